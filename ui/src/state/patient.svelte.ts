// A command that may take long: after a moment it shows, and whoever waits for it can stop waiting.

/** What takes less is over before anybody could read that it runs. */
const MOMENT_MILLIS = 400;

export class Patient {
  /** It runs, and has for long enough to be shown. */
  shown = $state(false);
  running = $state(false);
  #turn = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stop: (() => void) | undefined;

  /**
   * The answer; undefined when somebody stopped waiting or something newer was begun. The engine may still finish what was
   * begun: nothing here takes that back.
   */
  async run<T>(command: () => Promise<T>): Promise<T | undefined> {
    this.#stop?.();
    const turn = ++this.#turn;
    this.running = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.shown = turn === this.#turn), MOMENT_MILLIS);
    const stopped = new Promise<undefined>((done) => (this.#stop = () => done(undefined)));
    try {
      const answer = await Promise.race([command(), stopped]);
      return turn === this.#turn ? answer : undefined;
    } catch (thrown) {
      // Nobody waits for it any more, so nobody is told that it went wrong.
      if (turn !== this.#turn) return undefined;
      throw thrown;
    } finally {
      if (turn === this.#turn) this.#end();
    }
  }

  stop(): void {
    const stop = this.#stop;
    this.#turn++;
    this.#end();
    stop?.();
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#stop = undefined;
    this.shown = false;
    this.running = false;
  }
}
