import { describe, expect, it } from "vitest";
import { Patient } from "../src/state/patient.svelte";

const later = <T>() => {
  let done: (value: T) => void = () => undefined;
  let failed: (why: Error) => void = () => undefined;
  const promise = new Promise<T>((yes, no) => {
    done = yes;
    failed = no;
  });
  return { promise, done: (value: T) => done(value), failed: (why: Error) => failed(why) };
};

describe("long work", () => {
  it("r37_whoever_stops_waiting_gets_nothing_and_hears_of_no_fault_afterwards", async () => {
    const patient = new Patient();
    const work = later<number>();
    const answer = patient.run(() => work.promise);
    expect(patient.running).toBe(true);
    patient.stop();
    expect(await answer).toBe(undefined);
    expect([patient.running, patient.shown]).toEqual([false, false]);
    work.failed(new Error("late"));
    await Promise.resolve();
  });
  it("r37_what_was_begun_last_is_what_is_answered", async () => {
    const patient = new Patient();
    const [first, second] = [later<number>(), later<number>()];
    const one = patient.run(() => first.promise);
    const two = patient.run(() => second.promise);
    first.done(1);
    second.done(2);
    expect([await one, await two]).toEqual([undefined, 2]);
    expect(patient.running).toBe(false);
  });
  it("r37_a_fault_that_is_waited_for_is_told", async () => {
    const patient = new Patient();
    await expect(patient.run(() => Promise.reject(new Error("full")))).rejects.toThrow("full");
    expect(patient.running).toBe(false);
  });
});
