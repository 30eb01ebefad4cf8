// The gate with its clock: armed once what is shown could be read. One for each bar that lets something leave.

import { Gate, type Press } from "./gate";

export class Arming {
  armed = $state(false);
  /** Something was pressed and has not come to nothing yet. */
  pressed = $state(false);
  #gate = new Gate();
  #timer: ReturnType<typeof setTimeout> | undefined;

  shows(what: string): void {
    this.#gate.shows(what, performance.now());
    this.pressed = false;
    this.#arm();
  }

  /** The window came back from behind another one, or was shown again: nobody could read it until now. */
  again(): void {
    if (document.visibilityState !== "visible") return;
    this.#gate.again(performance.now());
    this.#arm();
  }

  /** True when the press was taken; `run` says whether anything came of it. */
  press(event: Press, run: () => Promise<boolean>): boolean {
    if (!this.#gate.press(event, performance.now())) return false;
    this.pressed = true;
    void run().then((taken) => {
      // Nothing came of it (locked, moved on): the same thing is still on screen and may be pressed again.
      if (!taken) {
        this.#gate.release();
        this.pressed = false;
      }
    });
    return true;
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #arm(): void {
    this.armed = false;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.armed = true), this.#gate.remaining(performance.now()) + 1);
  }
}
