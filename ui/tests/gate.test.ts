import { describe, expect, it } from "vitest";
import { ARM_MILLIS, Gate } from "../src/lib/gate";

describe("the gate before an approval", () => {
  it("f18_only_the_first_of_many_presses_counts", () => {
    const gate = new Gate();
    gate.shows("A-1 1 aa", 0);
    const taken = [gate.press({}, 1000), gate.press({}, 1005), gate.press({}, 1019)];
    expect(taken).toEqual([true, false, false]);
  });

  it("f18_nothing_counts_within_600_ms_of_what_is_shown", () => {
    const gate = new Gate();
    gate.shows("A-1 1 aa", 0);
    expect(gate.press({}, ARM_MILLIS - 1)).toBe(false);
    expect(gate.press({}, ARM_MILLIS)).toBe(true);
    gate.shows("A-1 2 bb", 5000);
    expect(gate.press({}, 5100)).toBe(false);
    expect(gate.press({}, 5600)).toBe(true);
  });

  it("f18_showing_the_same_thing_again_neither_rearms_nor_restarts", () => {
    const gate = new Gate();
    gate.shows("A-1 1 aa", 0);
    gate.shows("A-1 1 aa", 550);
    expect(gate.press({}, 600)).toBe(true);
    gate.shows("A-1 1 aa", 700);
    expect(gate.press({}, 2000)).toBe(false);
  });

  it("f19_composition_and_key_repeat_never_press", () => {
    const gate = new Gate();
    gate.shows("A-1 1 aa", 0);
    expect(gate.press({ isComposing: true }, 1000)).toBe(false);
    expect(gate.press({ keyCode: 229 }, 1000)).toBe(false);
    expect(gate.press({ repeat: true }, 1000)).toBe(false);
    expect(gate.press({}, 1000)).toBe(true);
  });

  it("f18_a_press_that_came_to_nothing_can_be_made_again", () => {
    const gate = new Gate();
    gate.shows("A-1 1 aa", 0);
    expect(gate.press({}, 1000)).toBe(true);
    gate.release();
    expect(gate.press({}, 1100)).toBe(true);
  });

  it("f18_nothing_shown_nothing_pressed", () => {
    expect(new Gate().press({}, 10_000)).toBe(false);
  });
});
