import { afterEach, describe, expect, it } from "vitest";
import type { Overview } from "../src/bindings/Overview";
import { changes, putBack } from "../src/lib/changes";
import { difference } from "../src/lib/newer";
import { sentences } from "../src/lib/news";
import { fieldsOf, withFields } from "../src/lib/payload";
import { movingItem } from "../src/lib/requests";
import { meanings, momentOf, problemOf, sendAtOf, wall, zones } from "../src/lib/sendat";
import { isHeld, isScheduled, setHolds } from "../src/lib/standing";
import { saidTrouble, troubleOf } from "../src/lib/trouble";

const berlin = (local: string, offset?: string) => ({ local, zone: "Europe/Berlin", ...(offset ? { offset } : {}) });
const utc = (when: Parameters<typeof momentOf>[0]) => {
  const meant = momentOf(when);
  return meant && new Date(meant.at).toISOString();
};

describe("a time on a wall", () => {
  it("f39_the_same_wall_time_before_and_after_the_change_is_another_moment", () => {
    expect(utc(berlin("2027-03-27T09:00"))).toBe("2027-03-27T08:00:00.000Z");
    expect(utc(berlin("2027-03-28T09:00"))).toBe("2027-03-28T07:00:00.000Z");
  });
  it("f39_an_hour_that_is_skipped_is_no_time_and_is_asked_for_again", () => {
    expect(meanings(berlin("2027-03-28T02:30"))).toEqual([]);
    expect(problemOf(berlin("2027-03-28T02:30"))).toContain("doesn’t exist in Europe/Berlin");
    expect(utc(berlin("2027-03-28T02:30", "+01:00"))).toBe(null);
    // Lord Howe changes by half an hour.
    expect(meanings({ local: "2026-10-04T02:15", zone: "Australia/Lord_Howe" })).toEqual([]);
  });
  it("f39_an_hour_that_occurs_twice_needs_to_be_told_which", () => {
    const twice = berlin("2027-10-31T02:30");
    expect(meanings(twice)?.map((one) => one.offset)).toEqual(["+02:00", "+01:00"]);
    expect(problemOf(twice)).toContain("occurs twice");
    expect(utc(berlin("2027-10-31T02:30", "+02:00"))).toBe("2027-10-31T00:30:00.000Z");
    expect(utc(berlin("2027-10-31T02:30", "+01:00"))).toBe("2027-10-31T01:30:00.000Z");
    expect(problemOf(berlin("2027-10-31T02:30", "+03:00"))).not.toBe("");
  });
  it("f39_what_is_no_time_or_no_zone_says_so", () => {
    for (const local of ["2027-03-28", "2027-03-28T25:00", "2027-02-30T10:00", "2027-03-28 10:00", "2027-03-28T10:00Z", ""]) expect(wall(local), local).toBeNaN();
    expect(problemOf({ local: "2027-03-28T10:00", zone: "Mars/Olympus" })).toContain("zone");
    expect(sendAtOf({ local: "2027-03-28T10:00" })).toBe(null);
    expect(zones("Mars/Olympus")).toContain("Mars/Olympus");
  });
});

describe("the time of a draft", () => {
  const payload = { from: { email: "a@a.example" }, to: [{ email: "b@b.example" }], subject: "s", text: "t", send_at: { local: "2027-03-28T09:00", zone: "Europe/Berlin" } };
  it("f39_an_edit_keeps_changes_or_drops_it_and_each_is_a_change_that_goes_back", () => {
    const before = fieldsOf(payload);
    expect(withFields(payload, before)).toEqual(payload);
    const later = { ...before, send_at: { local: "2027-03-29T09:00", zone: "Europe/Berlin" } };
    expect((withFields(payload, later) as { send_at: unknown }).send_at).toEqual(later.send_at);
    const dropped = { ...before, send_at: null };
    expect("send_at" in (withFields(payload, dropped) as object)).toBe(false);
    const [one] = changes(before, dropped);
    expect([one?.where, one?.added]).toEqual(["send_at", ""]);
    expect(one?.removed).toContain("Europe/Berlin");
    expect(putBack(before, dropped, one!)).toEqual(before);
    expect(difference(payload, { ...payload, send_at: later.send_at }).changes.map((x) => x.where)).toEqual(["send_at"]);
  });
});

describe("a line that waits for a time of its own", () => {
  afterEach(() => setHolds([]));
  const now = Date.parse("2026-11-30T10:00:00Z");
  const line = (at: string) => ({ id: "A-1", source: "s", request_id: "r", step: "1", effect: "email.reply", destination: "Office mailbox", state: "approved", reason: null, crossed_once: false, who: "Marta", email: "", subject: "", at: "2026-11-30T09:59:58Z", next: { what: "undo_ends", at, text: "" } });
  it("f39_within_the_hour_it_is_not_called_held", () => {
    setHolds([{ name: "Office mailbox", undo_seconds: 10 }]);
    const held = line("2026-11-30T10:00:08Z") as never;
    const later = line("2026-11-30T10:40:00Z") as never;
    expect([isHeld(held, now), isScheduled(held, now)]).toEqual([true, false]);
    expect([isHeld(later, now), isScheduled(later, now)]).toEqual([false, true]);
    const item = movingItem({ key: "A-1", rows: [later] }, { now, tick: now, owner: "", opened: new Set() });
    expect(item.chip?.label).toBe("Approved for later");
    expect(item.group).toBe("Approved for later");
    expect(item.right).not.toBe("");
  });
});

describe("what is said", () => {
  const fine: Overview = { home_exists: true, owner: "Noor", environment: "live", environments: ["live"], counts: {}, sending: true, frozen: null, frozen_text: null, another_dispatcher: false, locked: false, no_keychain: null, quiet: false, destinations: [{ name: "Office mailbox", health: "reachable", health_text: "" }], seq: 1, now: "" } as unknown as Overview;
  const said = (a: object, b: object) => saidTrouble(troubleOf({ ...fine, ...a }, 0), troubleOf({ ...fine, ...b }, 0));
  it("r37_what_stands_in_the_way_is_said_when_it_comes_and_when_it_goes_and_once", () => {
    expect(said({}, {})).toBe("");
    expect(said({}, { sending: false })).toMatch(/^Sending is off/);
    expect(said({ sending: false }, { sending: false, seq: 2 })).toBe("");
    expect(said({ sending: false }, {})).toBe("Sending is on.");
    expect(said({}, { frozen: "copied" })).toMatch(/Ledger/);
    expect(said({ frozen: "copied" }, {})).toBe("Sending is no longer stopped.");
    expect(said({ locked: true }, {})).toBe("Your key is unlocked.");
    const down = [{ name: "Office mailbox", health: "paused", health_text: "" }];
    expect(said({}, { destinations: down })).toMatch(/Office mailbox/);
    expect(said({ destinations: down }, {})).toBe("All destinations can be reached again.");
    // A graver one hides what is not over.
    expect(said({ sending: false }, { sending: false, frozen: "copied" })).not.toMatch(/Sending is on/);
    expect(said({ sending: false, frozen: "copied" }, { sending: false })).toMatch(/^Sending is no longer stopped\. Sending is off/);
  });
  it("f55_several_news_of_one_action_are_one_sentence_of_what_it_came_to", () => {
    const doc = { id: "A-1", state: "accepted", destination: "Office mailbox", conversation: { from_name: "Marta" }, payload: {}, attempts: [], approvals: [], next: null, receipt: { at: "2026-11-30T09:00:00Z", kind: "lookup" }, changed_at: "2026-11-30T09:00:00Z" };
    const out = sentences([{ action: "A-1", what: "unknown" }, { action: "A-1", what: "settled" }], new Map([["A-1", doc as never]]), 0, "");
    expect(out).toEqual(["Marta: Accepted"]);
  });
});
