// A text being written: kept per keystroke, its fingerprint live, saved as a new version only when the person says so.

import { untrack } from "svelte";
import { errorOf } from "../backend";
import type { ActionDoc } from "../bindings/ActionDoc";
import type { FindingDoc } from "../bindings/FindingDoc";
import { type Change, changes, putBack } from "../lib/changes";
import { base64Of } from "../lib/base64";
import { type Fields, type FileFacts, emailOf, fieldsOf, sameFile, withFields } from "../lib/payload";
import { w } from "../words";
import { app } from "./app.svelte";

type Kept = { version: number; fields: Fields };

export class Writing {
  doc = $state.raw<ActionDoc | null>(null);
  fields = $state.raw<Fields | null>(null);
  hash = $state("");
  findings = $state.raw<FindingDoc[]>([]);
  restored = $state(false);
  /** A newer version came while the person was writing (F16): the text stays, next to the new version. */
  moved = $state(false);
  missing = $state(false);
  /** Why a chosen file was not taken. */
  fileProblem = $state("");
  #base = 0;
  #frame = 0;
  #turn = 0;
  #later: ReturnType<typeof setTimeout> | undefined;

  get payload(): unknown {
    return this.doc && this.fields ? withFields(this.doc.payload, this.fields) : null;
  }
  get original(): ReturnType<typeof emailOf> {
    return emailOf(this.doc?.payload);
  }
  /** What the changes are counted from: the AI's draft. */
  get before(): Fields {
    return fieldsOf(this.doc?.first_payload ?? this.doc?.payload);
  }
  get changes(): Change[] {
    return this.fields ? changes(this.before, this.fields) : [];
  }
  get dirty(): boolean {
    return this.doc !== null && this.fields !== null && JSON.stringify(fieldsOf(this.doc.payload)) !== JSON.stringify(this.fields);
  }
  get version(): number {
    return (this.doc?.payload_version ?? 0) + (this.dirty ? 1 : 0);
  }

  open(id: string): Promise<void> {
    return untrack(() => this.#open(id));
  }

  async #open(id: string): Promise<void> {
    try {
      const doc = await app.engine.action(id);
      const text = await app.engine.keptText(id).catch(() => null);
      this.doc = doc;
      this.#base = doc.payload_version;
      this.fields = fieldsOf(doc.payload);
      this.hash = doc.payload_hash;
      this.findings = doc.findings;
      if (text) {
        const kept = JSON.parse(text) as Kept;
        if (kept?.fields && JSON.stringify(kept.fields) !== JSON.stringify(this.fields)) {
          this.fields = await this.#withKnownFiles(id, kept.fields, doc);
          this.restored = true;
          this.moved = kept.version !== doc.payload_version;
          this.#again();
        }
      }
    } catch (thrown) {
      this.missing = true;
      app.say(errorOf(thrown).message);
    }
  }

  /** Files that were attached and never saved live only as long as the program: what is gone is said, not sent without. */
  async #withKnownFiles(id: string, fields: Fields, doc: ActionDoc): Promise<Fields> {
    const own = fieldsOf(doc.payload).files;
    const files: FileFacts[] = [];
    const gone: string[] = [];
    for (const file of fields.files) {
      const known = own.some((x) => sameFile(x, file)) || (file.sha256 ? await app.engine.file(id, file.sha256).then(() => true, () => false) : false);
      if (known) files.push(file);
      else gone.push(file.filename);
    }
    if (gone.length) this.fileProblem = w.fileGone(gone.join(", "));
    return { ...fields, files };
  }

  /** Each file becomes part of the text being written; with the next save it is part of the version. */
  async attach(files: File[]): Promise<void> {
    this.fileProblem = "";
    for (const file of files) {
      if (!this.doc || !this.fields) return;
      try {
        const known = await app.engine.attach(this.doc.id, file.name, file.type || "application/octet-stream", await base64Of(file));
        const taken = { filename: known.filename, content_type: known.content_type, sha256: known.sha256, size: Number(known.size) };
        if (!this.fields.files.some((x) => sameFile(x, taken))) this.change({ ...this.fields, files: [...this.fields.files, taken] });
        app.say(w.fileAttached(file.name));
      } catch (thrown) {
        this.fileProblem = w.fileNotTaken(file.name, errorOf(thrown).message);
      }
    }
  }

  watch(): () => void {
    return app.onFeed((event) => {
      const id = this.doc?.id;
      if (!id || !event.actions.includes(id)) return;
      void app.engine.action(id).then((doc) => {
        if (doc.payload_version !== this.#base) {
          const mine = this.fields;
          const dirty = this.dirty;
          this.#base = doc.payload_version;
          this.doc = doc;
          if (dirty && mine) {
            this.fields = mine;
            this.moved = true;
            app.say(w.movedOn(doc.payload_version));
          } else this.fields = fieldsOf(doc.payload);
          this.#again();
        } else this.doc = doc;
      });
    });
  }

  change(fields: Fields): void {
    this.fields = fields;
    this.restored = false;
    if (this.doc) void app.engine.keepText(this.doc.id, JSON.stringify({ version: this.#base, fields } satisfies Kept)).catch(() => undefined);
    this.#again();
  }

  putBack(change: Change): void {
    if (this.fields) this.change(putBack(this.before, this.fields, change));
  }

  /** One fingerprint a frame, the checks a moment after the last key. */
  #again(): void {
    if (!this.#frame)
      this.#frame = requestAnimationFrame(() => {
        this.#frame = 0;
        void this.#fingerprint();
      });
    clearTimeout(this.#later);
    this.#later = setTimeout(() => void this.#check(), 300);
  }
  async #fingerprint(): Promise<void> {
    if (!this.doc) return;
    const turn = ++this.#turn;
    if (!this.dirty) {
      this.hash = this.doc.payload_hash;
      return;
    }
    const answer = await app.engine.fingerprint(this.doc.id, this.payload).catch((thrown: unknown) => {
      app.barMessage = errorOf(thrown).message;
      return null;
    });
    if (answer && turn === this.#turn) {
      this.hash = answer.payload_hash;
      app.barMessage = "";
    }
  }
  async #check(): Promise<void> {
    if (!this.doc) return;
    const list = await app.engine.findings(this.doc.id, this.payload).catch(() => null);
    if (list) this.findings = list;
  }

  /** The typed text as a new version; null with a sentence when it could not be saved. The text stays either way. */
  async save(): Promise<ActionDoc | null> {
    const doc = this.doc;
    if (!doc) return null;
    if (!this.dirty) return doc;
    try {
      const after = await app.engine.edit(doc.id, doc.payload_version, this.payload);
      await app.engine.keepText(doc.id, "").catch(() => undefined);
      this.doc = after;
      this.#base = after.payload_version;
      this.fields = fieldsOf(after.payload);
      this.hash = after.payload_hash;
      this.findings = after.findings;
      this.moved = false;
      this.restored = false;
      return after;
    } catch (thrown) {
      const error = errorOf(thrown);
      if (error.code === "locked") app.unlocking = true;
      if (error.code === "conflict") {
        const now = await app.engine.action(doc.id).catch(() => null);
        if (now) {
          this.doc = now;
          this.#base = now.payload_version;
          this.moved = true;
        }
      }
      app.barMessage = error.message;
      app.say(error.message);
      return null;
    }
  }

  async discard(): Promise<void> {
    if (!this.doc) return;
    await app.engine.keepText(this.doc.id, "").catch(() => undefined);
    this.fields = fieldsOf(this.doc.payload);
    this.hash = this.doc.payload_hash;
    this.moved = false;
    this.restored = false;
  }
}
