// A text being written: kept per keystroke, its fingerprint live, saved as a new version only when the person says so.

import { untrack } from "svelte";
import { errorOf } from "../backend";
import type { ActionDoc } from "../bindings/ActionDoc";
import type { FindingDoc } from "../bindings/FindingDoc";
import { type Change, changes, putBack } from "../lib/changes";
import { base64Of } from "../lib/base64";
import { type Difference, difference } from "../lib/newer";
import { type Fields, type FileFacts, emailOf, fieldsOf, sameFile, samePayload, withFields } from "../lib/payload";
import { w } from "../words";
import { listed } from "../words/list";
import { app } from "./app.svelte";

/** With the payload it was written on, so that coming back seals what was on screen and nothing newer. */
type Kept = { version: number; base: unknown; fields: Fields };

export class Writing {
  /** The action as it is stored now. */
  doc = $state.raw<ActionDoc | null>(null);
  /** The payload that is on screen and being written on: what is sealed is this with the person's changes, whatever came since. */
  base = $state.raw<unknown>(null);
  fields = $state.raw<Fields | null>(null);
  hash = $state("");
  findings = $state.raw<FindingDoc[]>([]);
  restored = $state(false);
  /** A newer version came while the person was writing (F16): nothing is saved or approved until they have chosen. */
  moved = $state(false);
  missing = $state(false);
  /** Why a chosen file was not taken. */
  fileProblem = $state("");
  /** What was typed last is on screen only: this computer could not keep it. */
  notKept = $state(false);
  /** The version of `base`. */
  #version = 0;
  #frame = 0;
  #turn = 0;
  #keeping: Promise<void> = Promise.resolve();
  #toKeep: string | null = null;
  #later: ReturnType<typeof setTimeout> | undefined;

  get payload(): unknown {
    return this.doc && this.fields ? withFields(this.base, this.fields) : null;
  }
  get original(): ReturnType<typeof emailOf> {
    return emailOf(this.base);
  }
  /** What the newer version has otherwise than the one on screen. */
  get newer(): Difference | null {
    return this.doc && this.moved ? difference(this.base, this.doc.payload) : null;
  }
  /** What the changes are shown from: the AI's draft, or the version that was saved last. */
  from = $state<"draft" | "version">("draft");
  /** Whether these two differ. */
  get saved(): boolean {
    return this.doc?.first_payload != null;
  }
  get before(): Fields {
    return fieldsOf(this.from === "version" ? this.base : (this.doc?.first_payload ?? this.doc?.payload));
  }
  get changes(): Change[] {
    return this.fields ? changes(this.before, this.fields) : [];
  }
  /** What a discard takes away. */
  get unsaved(): Change[] {
    return this.fields && this.doc ? changes(fieldsOf(this.doc.payload), this.fields) : [];
  }
  get dirty(): boolean {
    return this.doc !== null && this.fields !== null && !samePayload(this.payload, this.doc.payload);
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
      this.#take(doc);
      const kept = text ? (JSON.parse(text) as Kept) : null;
      if (kept?.fields && kept.base && !samePayload(withFields(kept.base, kept.fields), doc.payload)) {
        this.base = kept.base;
        this.#version = kept.version;
        // What was kept before a message could have a time has none: that is no choice against it.
        const at = kept.fields.send_at === undefined ? fieldsOf(kept.base).send_at : kept.fields.send_at;
        this.fields = await this.#withKnownFiles(id, { ...kept.fields, send_at: at });
        this.restored = true;
        this.moved = kept.version !== doc.payload_version;
        if (this.moved) app.say(w.movedOn(doc.payload_version));
        this.#again();
      }
    } catch (thrown) {
      this.missing = true;
      app.say(errorOf(thrown).message);
    }
  }

  /** What is stored is what is on screen. */
  #take(doc: ActionDoc): void {
    this.doc = doc;
    this.base = doc.payload;
    this.#version = doc.payload_version;
    this.fields = fieldsOf(doc.payload);
    this.hash = doc.payload_hash;
    this.findings = doc.findings;
    this.moved = false;
    this.restored = false;
  }

  /** Files that were attached and never saved live only as long as the program: what is gone is said, not sent without. */
  async #withKnownFiles(id: string, fields: Fields): Promise<Fields> {
    const own = fieldsOf(this.base).files;
    const files: FileFacts[] = [];
    const gone: string[] = [];
    for (const file of fields.files) {
      const known = own.some((x) => sameFile(x, file)) || (file.sha256 ? await app.engine.file(id, file.sha256).then(() => true, () => false) : false);
      if (known) files.push(file);
      else gone.push(file.filename);
    }
    if (gone.length) this.fileProblem = w.fileGone(listed(gone));
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
        const before = this.doc?.payload_version;
        if (doc.payload_version === this.#version) this.doc = doc;
        else if (this.dirty || this.moved) {
          this.doc = doc;
          this.moved = true;
          this.#again();
          if (before !== doc.payload_version) app.say(w.movedOn(doc.payload_version));
        } else this.#take(doc);
      });
    });
  }

  /** What is on screen stays and is what a save seals; the newer version is replaced by it. */
  keepMine(): void {
    if (!this.doc) return;
    this.moved = false;
    this.#version = this.doc.payload_version;
    if (this.fields) this.change(this.fields);
  }

  /** The newer version as it came; what was typed here goes. */
  async takeNewer(): Promise<void> {
    if (!this.doc) return;
    await this.#keep(this.doc.id, "");
    this.#take(this.doc);
  }

  change(fields: Fields): void {
    this.fields = fields;
    this.restored = false;
    if (this.doc) void this.#keep(this.doc.id, JSON.stringify({ version: this.#version, base: this.base, fields } satisfies Kept));
    this.#again();
  }

  /** One call after the other, so that what is kept in the end is what was typed last; what was overtaken is not sent. */
  #keep(id: string, text: string): Promise<void> {
    this.#toKeep = text;
    this.#keeping = this.#keeping.then(async () => {
      const newest = this.#toKeep;
      if (newest === null) return;
      this.#toKeep = null;
      this.notKept = await app.engine.keepText(id, newest).then(
        () => false,
        () => newest !== "",
      );
    });
    return this.#keeping;
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
      app.tellBar(errorOf(thrown).message);
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
    if (this.moved) {
      app.barMessage = "";
      app.tellBar(w.chooseVersion(doc.payload_version));
      return null;
    }
    if (!this.dirty) return doc;
    const sent = this.fields;
    try {
      const after = await app.engine.edit(doc.id, this.#version, this.payload);
      const typed = this.fields;
      this.#take(after);
      // What was typed while the save ran is not in it: it stays, on top of the version that was saved.
      if (typed && typed !== sent) this.change(typed);
      else await this.#keep(doc.id, "");
      return after;
    } catch (thrown) {
      const error = errorOf(thrown);
      if (error.code === "locked") app.unlocking = true;
      if (error.code === "conflict") {
        const now = await app.engine.action(doc.id).catch(() => null);
        if (now) {
          this.doc = now;
          this.moved = now.payload_version !== this.#version;
        }
      }
      app.barMessage = "";
      app.tellBar(error.message);
      return null;
    }
  }

  discard(): Promise<void> {
    return this.takeNewer();
  }
}
