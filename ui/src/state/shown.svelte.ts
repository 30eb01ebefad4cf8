// The request on screen: its actions as documents, read again when one of them moves.

import { untrack } from "svelte";
import { errorOf } from "../backend";
import type { ActionDoc } from "../bindings/ActionDoc";
import { app } from "./app.svelte";

export class Shown {
  id = $state<string | null>(null);
  docs = $state.raw<ActionDoc[]>([]);
  missing = $state(false);
  /** Which of the actions has the focus. */
  at = $state(0);
  #turn = 0;
  /** A read is under way: what it would bring is not known yet. */
  #reading: { again: boolean } | null = null;

  constructor(readonly single = false) {}

  get doc(): ActionDoc | null {
    return this.docs[this.at] ?? this.docs[0] ?? null;
  }

  /** False while what was chosen is still being read and the one before is on screen. */
  get current(): boolean {
    return this.docs.some((doc) => doc.id === this.id);
  }

  /** For use inside an effect: shows what the address names and listens while the screen is there. */
  watch(): () => void {
    return app.onFeed((event) => {
      if (this.docs.some((doc) => event.actions.includes(doc.id))) void this.#read(true);
    });
  }

  /** Called from effects: what it reads must not make it run again. */
  show(id: string | null): Promise<void> {
    return untrack(() => this.#show(id));
  }

  async #show(id: string | null): Promise<void> {
    if (id === this.id && this.docs.length) return;
    this.id = id;
    this.missing = false;
    if (id === null) {
      this.docs = [];
      this.#turn++;
      this.#reading = null;
      return;
    }
    await this.#read(false);
  }

  async #read(again: boolean): Promise<void> {
    const id = this.id;
    if (id === null) return;
    const turn = ++this.#turn;
    this.#reading = { again };
    try {
      const all = this.single ? [await app.engine.action(id)] : await app.engine.bundle(id);
      if (turn !== this.#turn) return;
      const there = new Set(all.map((doc) => doc.id));
      // A step that was revised is shown by what follows it, unless it is the one that was asked for.
      const docs = all.filter((doc) => doc.id === id || !doc.revised_by || !there.has(doc.revised_by));
      const focus = again ? this.doc?.id : id;
      this.docs = docs.length ? docs : all;
      const at = this.docs.findIndex((doc) => doc.id === focus);
      const open = this.docs.findIndex((doc) => doc.state === "prepared");
      this.at = again ? Math.max(0, at) : Math.max(0, at >= 0 && this.docs[at]?.state === "prepared" ? at : open >= 0 && app.route.screen === "awaiting" ? open : at);
      this.missing = false;
      for (const doc of this.docs) if (doc.state === "approved") app.keepHeld(doc);
    } catch (thrown) {
      if (turn !== this.#turn) return;
      this.docs = [];
      this.missing = errorOf(thrown).code === "not_found";
      if (!this.missing) app.notify({ icon: "s-review", family: "plum", text: errorOf(thrown).message });
    } finally {
      if (turn === this.#turn) this.#reading = null;
    }
  }

  /** A command answered with the new document. What was being read may be older than it, so that is asked again. */
  put(doc: ActionDoc): void {
    this.docs = this.docs.map((x) => (x.id === doc.id ? doc : x));
    if (this.#reading) void this.#read(this.#reading.again);
  }
}
