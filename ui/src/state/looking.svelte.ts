// A file of a draft that is looked at.

import { errorOf } from "../backend";
import type { FileFacts } from "../lib/payload";
import { app } from "./app.svelte";

export class Looking {
  viewing = $state.raw<{ file: FileFacts; base64: string | null; problem: string } | null>(null);

  async look(id: string, file: FileFacts): Promise<void> {
    this.viewing = { file, base64: null, problem: "" };
    try {
      const base64 = await app.engine.file(id, file.sha256 ?? "");
      if (this.viewing?.file === file) this.viewing = { file, base64, problem: "" };
    } catch (thrown) {
      if (this.viewing?.file === file) this.viewing = { file, base64: null, problem: errorOf(thrown).message };
    }
  }
  close(): void {
    this.viewing = null;
  }
}
