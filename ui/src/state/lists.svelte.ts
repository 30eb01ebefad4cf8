// One list of the ledger, read page by page with the engine's cursor. Never the whole of it.

import { untrack } from "svelte";
import type { Backend, View } from "../backend";
import { errorOf } from "../backend";
import type { ActionRow } from "../bindings/ActionRow";

export const PAGE = 100;

export class ActionList {
  engine!: Backend;
  rows = $state.raw<ActionRow[]>([]);
  loaded = $state(false);
  problem = $state("");
  #next: string | null = null;
  #reading = false;
  #stale = true;
  #turn = 0;

  constructor(readonly view: View) {}

  clear(): void {
    this.rows = [];
    this.loaded = false;
    this.#next = null;
    this.#stale = true;
    this.#turn++;
    this.#reading = false;
  }

  /** Reads the first page if nothing was read yet or something moved since. */
  async open(): Promise<void> {
    if (this.#stale && !this.#reading) await untrack(() => this.#first([]));
  }

  /** Something moved. A list that is not on screen is only marked; it is read when it is opened. */
  async refresh(changed: string[], visible: boolean): Promise<void> {
    if (!visible) {
      this.#stale = true;
      return;
    }
    if (this.#reading) {
      this.#stale = true;
      return;
    }
    await this.#first(changed);
  }

  async #first(changed: string[]): Promise<void> {
    const turn = ++this.#turn;
    this.#reading = true;
    this.#stale = false;
    try {
      const page = await this.engine.list(this.view, null, null, PAGE);
      if (turn !== this.#turn) return;
      const kept = new Set(page.actions.map((row) => row.id));
      const gone = new Set(changed);
      // Later pages stay as they were, but for what moved: it is on the first page again or no longer in this view.
      const rest = page.next === null ? [] : this.rows.slice(PAGE).filter((row) => !kept.has(row.id) && !gone.has(row.id));
      this.rows = [...page.actions, ...rest];
      if (rest.length === 0) this.#next = page.next;
      this.loaded = true;
      this.problem = "";
    } catch (thrown) {
      if (turn === this.#turn) this.problem = errorOf(thrown).message;
    } finally {
      if (turn === this.#turn) this.#reading = false;
    }
    if (this.#stale && turn === this.#turn) await this.#first(changed);
  }

  async more(): Promise<void> {
    if (this.#reading || this.#next === null) return;
    const turn = ++this.#turn;
    this.#reading = true;
    try {
      const page = await this.engine.list(this.view, null, this.#next, PAGE);
      if (turn !== this.#turn) return;
      const known = new Set(this.rows.map((row) => row.id));
      this.rows = [...this.rows, ...page.actions.filter((row) => !known.has(row.id))];
      this.#next = page.next;
    } catch (thrown) {
      if (turn === this.#turn) this.problem = errorOf(thrown).message;
    } finally {
      if (turn === this.#turn) this.#reading = false;
    }
  }
}
