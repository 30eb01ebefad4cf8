// What a person changed, against the AI's draft or against what was sent.

import { type Fields, type FileFacts, type Mailbox, sameFile } from "./payload";
import { htmlChanges, htmlPutBack, linked } from "./prose/parts";
import { type Run, textChanges } from "./runs";
import { type SendAt, wallText } from "./sendat";

export { type Run, textChanges };

export type Change = {
  where: "text" | "subject" | "to" | "cc" | "bcc" | "files" | "html" | "send_at";
  removed: string;
  added: string;
  /** Paragraph, from 1; 0 outside the text. */
  paragraph: number;
  /** Position in the changes of that part, so that one change can be put back; -1: the whole of it. */
  at: number;
};

const timeText = (when: SendAt | null | undefined) => (when ? `${wallText(when.local)} ${when.zone}${when.offset ? ` (UTC${when.offset})` : ""}` : "");

function paragraphAt(text: string): number {
  return (text.match(/\n\s*\n/g)?.length ?? 0) + 1;
}

function boxChanges(where: "to" | "cc" | "bcc", before: Mailbox[], after: Mailbox[]): Change[] {
  const out: Change[] = [];
  const has = (list: Mailbox[], email: string) => list.some((x) => x.email === email);
  for (const box of before) if (!has(after, box.email)) out.push({ where, removed: box.email, added: "", paragraph: 0, at: -1 });
  for (const box of after) if (!has(before, box.email)) out.push({ where, removed: "", added: box.email, paragraph: 0, at: -1 });
  return out;
}

export function changes(before: Fields, after: Fields): Change[] {
  const out: Change[] = [];
  for (const where of ["to", "cc", "bcc"] as const) out.push(...boxChanges(where, before[where], after[where]));
  if (before.subject !== after.subject) out.push({ where: "subject", removed: before.subject, added: after.subject, paragraph: 0, at: -1 });
  const [was, is] = [timeText(before.send_at), timeText(after.send_at)];
  if (was !== is) out.push({ where: "send_at", removed: was, added: is, paragraph: 0, at: -1 });
  for (const file of before.files) if (!after.files.some((x) => sameFile(x, file))) out.push({ where: "files", removed: file.filename, added: "", paragraph: 0, at: -1 });
  for (const file of after.files) if (!before.files.some((x) => sameFile(x, file))) out.push({ where: "files", removed: "", added: file.filename, paragraph: 0, at: -1 });
  if ((before.html === null) !== (after.html === null)) out.push({ where: "html", removed: before.html ?? "", added: after.html ?? "", paragraph: 0, at: -1 });
  else if (before.html !== null && after.html !== null) out.push(...htmlChanges(before.html, after.html).map((one) => ({ where: "html" as const, ...one })));
  // What both parts say is listed once, where it is formatted.
  if (before.text !== after.text && !(before.html !== after.html && linked(before) && linked(after))) {
    const runs = textChanges(before.text, after.text);
    let seen = "";
    for (let i = 0; i < runs.length; i++) {
      const run = runs[i] as Run;
      if (run.kind === "same") {
        seen += run.text;
        continue;
      }
      const next = runs[i + 1];
      const pair = run.kind === "removed" && next?.kind === "added";
      out.push({
        where: "text",
        removed: run.kind === "removed" ? run.text : "",
        added: run.kind === "added" ? run.text : pair ? (next as Run).text : "",
        paragraph: paragraphAt(seen),
        at: i,
      });
      if (run.kind === "added") seen += run.text;
      if (pair) {
        seen += (next as Run).text;
        i++;
      }
    }
  }
  return out;
}

/** The fields with one change taken back. */
export function putBack(before: Fields, after: Fields, change: Change): Fields {
  const next = structuredClone(after);
  if (change.where === "subject") next.subject = before.subject;
  else if (change.where === "send_at") next.send_at = before.send_at;
  else if (change.where === "html") {
    if (before.html === null || after.html === null) next.html = before.html;
    else Object.assign(next, htmlPutBack(before, after, change));
  }
  else if (change.where === "files") {
    const kept = (file: FileFacts) => after.files.some((x) => sameFile(x, file));
    const stays = before.files.filter((x) => kept(x) || x.filename === change.removed);
    const added = after.files.filter((x) => !before.files.some((y) => sameFile(x, y)) && x.filename !== change.added);
    next.files = [...stays, ...added];
  }
  else if (change.where === "text") {
    const runs = textChanges(before.text, after.text);
    next.text = runs
      .map((run, i) => {
        const mine = i === change.at || (change.removed !== "" && change.added !== "" && i === change.at + 1);
        if (run.kind === "removed") return mine ? run.text : "";
        return run.kind === "added" && mine ? "" : run.text;
      })
      .join("");
  } else {
    const where = change.where;
    if (change.added) next[where] = next[where].filter((x) => x.email !== change.added);
    else next[where] = [...next[where], ...before[where].filter((x) => x.email === change.removed)];
  }
  return next;
}
