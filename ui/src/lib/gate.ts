// What stands between a key press and an approval (F18, F19). Pure, so that it can be tested without a window.

export const ARM_MILLIS = 600;

export type Press = {
  repeat?: boolean;
  isComposing?: boolean;
  keyCode?: number;
};

/** A key that belongs to an input method, or one that is only being held down, never approves. */
export function deliberate(press: Press): boolean {
  return !press.repeat && !press.isComposing && press.keyCode !== 229;
}

/** What is on screen and since when; one gate per approval bar. */
export class Gate {
  #shown = "";
  #since = 0;
  #pressed = "";

  /** Tells the gate what is on screen. A different request, version or fingerprint starts the time again. */
  shows(what: string, now: number): void {
    if (what === this.#shown) return;
    this.#shown = what;
    this.#since = now;
    this.#pressed = "";
  }

  /** Nobody could see it until now: it is to be read from the start. */
  again(now: number): void {
    this.#since = now;
  }

  armed(now: number): boolean {
    return this.#shown !== "" && now - this.#since >= ARM_MILLIS;
  }

  remaining(now: number): number {
    return Math.max(0, ARM_MILLIS - (now - this.#since));
  }

  /** True once per thing shown: from the first press until something else is shown or `release` says it came to nothing. */
  press(press: Press, now: number): boolean {
    if (!deliberate(press) || !this.armed(now) || this.#pressed === this.#shown) return false;
    this.#pressed = this.#shown;
    return true;
  }

  release(): void {
    this.#pressed = "";
  }
}
