import { beforeEach, describe, expect, it, vi } from "vitest";
import type { ActionDoc } from "../src/bindings/ActionDoc";
import { sentences } from "../src/lib/news";
import { standing } from "../src/lib/standing";

// A text being written, without a window: the engine is answered by hand, in the order of the test.
vi.stubGlobal("location", { hash: "" });
vi.stubGlobal("requestAnimationFrame", () => 1);
const { app } = await import("../src/state/app.svelte");
const { Writing } = await import("../src/state/writing.svelte");

type Call = { text: string; done: () => void; failed: () => void };
const kept: Call[] = [];
let saved: (doc: ActionDoc) => void = () => expect.fail("nothing was saved");
let sealed: unknown;
const turn = () => new Promise((done) => setImmediate(done));
const mail = (text: string) => ({ from: { email: "a@a.example" }, to: [{ email: "b@b.example" }], subject: "s", text });
const doc = (version: number, text: string) =>
  ({ id: "A-1", payload_version: version, payload: mail(text), payload_hash: `h${version}`, findings: [], state: "prepared", effect: "email.reply", approvals: [], attempts: [], destination: "dest", next: null }) as unknown as ActionDoc;

beforeEach(() => {
  kept.length = 0;
  app.engine = {
    action: () => Promise.resolve(doc(1, "one")),
    keptText: () => Promise.resolve(null),
    keepText: (_id: string, text: string) => new Promise<void>((done, fail) => kept.push({ text, done, failed: () => fail(new Error("full")) })),
    edit: (_id: string, _version: number, payload: unknown) => {
      sealed = payload;
      return new Promise<ActionDoc>((done) => (saved = done));
    },
    findings: () => Promise.resolve([]),
  } as unknown as typeof app.engine;
});

async function opened(): Promise<InstanceType<typeof Writing>> {
  const writing = new Writing();
  await writing.open("A-1");
  return writing;
}

describe("a text being written", () => {
  it("f14_what_is_typed_while_a_save_runs_stays_on_top_of_what_was_saved", async () => {
    const writing = await opened();
    writing.change({ ...writing.fields!, text: "two" });
    await turn();
    kept.shift()!.done();
    await turn();
    const saving = writing.save();
    writing.change({ ...writing.fields!, text: "two and three" });
    saved(doc(2, (sealed as { text: string }).text));
    await turn();
    kept.shift()!.done();
    await turn();
    expect((await saving)!.payload_version).toBe(2);
    expect(sealed).toMatchObject({ text: "two" });
    expect(writing.fields!.text).toBe("two and three");
    expect(writing.dirty).toBe(true);
    expect(writing.base).toMatchObject({ text: "two" });
    expect(JSON.parse(kept.at(-1)!.text)).toMatchObject({ version: 2, fields: { text: "two and three" } });
  });

  it("f14_texts_are_kept_one_after_the_other_and_the_newest_wins", async () => {
    const writing = await opened();
    for (const text of ["a", "ab", "abc"]) writing.change({ ...writing.fields!, text });
    await turn();
    expect(kept).toHaveLength(1);
    writing.change({ ...writing.fields!, text: "abcd" });
    expect(kept).toHaveLength(1);
    kept[0]!.done();
    await turn();
    expect(kept.map((call) => (JSON.parse(call.text) as { fields: { text: string } }).fields.text)).toEqual(["abc", "abcd"]);
  });

  it("f14_a_text_that_could_not_be_kept_is_not_called_saved", async () => {
    const writing = await opened();
    writing.change({ ...writing.fields!, text: "a" });
    await turn();
    kept[0]!.failed();
    await turn();
    expect(writing.notKept).toBe(true);
    writing.change({ ...writing.fields!, text: "ab" });
    await turn();
    kept[1]!.done();
    await turn();
    expect(writing.notKept).toBe(false);
  });
});

describe("what is said", () => {
  it("f55_two_sentences_of_one_turn_are_both_heard", async () => {
    app.say("First.");
    app.say("Second.");
    await expect.poll(() => app.polite).toBe("First. Second.");
    app.say("Third.");
    await expect.poll(() => app.polite).toBe("Third.");
  });

  it("f22_nothing_was_sent_again_is_only_said_where_no_repeat_crossed", () => {
    const attempt = (number: number, crossed_at: string | null) => ({ number, crossed_at, phase: "closed", in_doubt: true });
    const unknown = (...attempts: unknown[]) => ({ ...doc(1, "x"), state: "unknown", conversation: null, attempts }) as unknown as ActionDoc;
    const once = unknown(attempt(1, "2026-11-30T10:00:00Z"), attempt(2, null));
    const twice = unknown(attempt(1, "2026-11-30T10:00:00Z"), attempt(2, "2026-11-30T10:01:00Z"));
    const said = (one: ActionDoc) => [standing(one, 0, "").sentence, ...sentences([{ action: "A-1", what: "unknown" }] as never, new Map([["A-1", one]]), 0, "")].join(" ");
    expect(said(once).match(/nothing was sent again/gi)).toHaveLength(2);
    expect(said(twice)).not.toMatch(/again/i);
    expect(said(twice)).toMatch(/don’t know.*not known yet/i);
  });
});
