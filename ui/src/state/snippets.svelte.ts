// Canned texts at hand while something is written: the dialog that is open, and each by its name in the palette.

import type { SnippetDoc } from "../bindings/SnippetDoc";
import { w } from "../words";
import { app } from "./app.svelte";
import type { Named } from "./keyboard.svelte";

export class Snippets {
  /** What the open dialog offers; null: none is open. */
  list = $state.raw<SnippetDoc[] | null>(null);
  /** The one that was chosen by name. */
  start = $state("");
  #known = $state.raw<SnippetDoc[]>([]);

  constructor() {
    void this.#read();
  }
  async #read(): Promise<SnippetDoc[] | null> {
    const found = await app.run(() => app.engine.snippets());
    if (found) this.#known = found;
    return found;
  }
  async open(start = ""): Promise<void> {
    const found = await this.#read();
    if (!found) return;
    this.start = start;
    this.list = found;
  }
  close(): void {
    this.list = null;
  }
  named(): Named[] {
    return this.#known.map((one) => ({ label: w.snippetNamed(one.name), icon: "stamp", run: () => void this.open(one.name) }));
  }
}
