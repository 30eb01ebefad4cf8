import { beforeAll, describe, expect, it, vi } from "vitest";
import type { ActionDoc } from "../src/bindings/ActionDoc";
import type { FeedEvent } from "../src/bindings/FeedEvent";

// The state of the window without a window: what it reads from the engine is answered by hand, in the order of the test.
vi.stubGlobal("location", { hash: "" });
const { app } = await import("../src/state/app.svelte");
const { Shown } = await import("../src/state/shown.svelte");

type Answer = (docs: ActionDoc[]) => void;
const asked: Answer[] = [];
const doc = (id: string, version: number) => ({ id, payload_version: version, state: "prepared", revised_by: null }) as unknown as ActionDoc;
const turn = () => new Promise((done) => setImmediate(done));

beforeAll(() => {
  app.engine = { bundle: () => new Promise<ActionDoc[]>((answer) => asked.push(answer)) } as unknown as typeof app.engine;
});

describe("the request on screen", () => {
  it("f15_an_answer_to_a_command_does_not_lose_what_was_being_read", async () => {
    let moved: (event: FeedEvent) => void = () => expect.fail("nobody listens");
    vi.spyOn(app, "onFeed").mockImplementation((watch) => {
      moved = watch;
      return () => undefined;
    });
    const shown = new Shown();
    shown.watch();
    const first = shown.show("A-1");
    asked.shift()!([doc("A-1", 1), doc("A-2", 1)]);
    await first;
    // Both move: a read starts, and before it is answered a command answers with the first of them.
    moved({ seq: 1, actions: ["A-1", "A-2"], announcement: null } as unknown as FeedEvent);
    shown.put(doc("A-1", 2));
    expect(shown.docs.map((one) => one.payload_version)).toEqual([2, 1]);
    // The old answer, older than the command, counts no more; it is asked again and the second one's news arrive.
    asked.shift()!([doc("A-1", 1), doc("A-2", 2)]);
    await turn();
    expect(shown.docs.map((one) => one.payload_version)).toEqual([2, 1]);
    asked.shift()!([doc("A-1", 2), doc("A-2", 2)]);
    await turn();
    expect(shown.docs.map((one) => one.payload_version)).toEqual([2, 2]);
  });
});
