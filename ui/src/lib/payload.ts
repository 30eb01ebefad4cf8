// The payload of an email as the window reads and edits it. Whatever it does not know stays exactly as it came, so that
// saving without a change gives the same bytes (F14).

import { w } from "../words";
import { type SendAt, sendAtOf } from "./sendat";

export type Mailbox = { name?: string | null; email: string };
export type FileFacts = { filename: string; content_type?: string; size?: number; sha256?: string; base64?: string };
export type Email = {
  from: Mailbox;
  to: Mailbox[];
  cc: Mailbox[];
  bcc: Mailbox[];
  reply_to: Mailbox[];
  subject: string;
  text: string | null;
  html: string | null;
  attachments: FileFacts[];
  send_at: SendAt | null;
};

type Loose = Record<string, unknown>;

function boxes(value: unknown): Mailbox[] {
  return Array.isArray(value) ? value.filter((x): x is Mailbox => typeof (x as Mailbox)?.email === "string") : [];
}

export function isEmail(effect: string): boolean {
  return effect.startsWith("email.");
}

export function emailOf(payload: unknown): Email {
  const p = (payload ?? {}) as Loose;
  const from = p["from"] as Mailbox | undefined;
  return {
    from: typeof from?.email === "string" ? from : { email: "" },
    to: boxes(p["to"]),
    cc: boxes(p["cc"]),
    bcc: boxes(p["bcc"]),
    reply_to: boxes(p["reply_to"]),
    subject: typeof p["subject"] === "string" ? p["subject"] : "",
    text: typeof p["text"] === "string" ? p["text"] : null,
    html: typeof p["html"] === "string" ? p["html"] : null,
    attachments: Array.isArray(p["attachments"]) ? (p["attachments"] as FileFacts[]) : [],
    send_at: sendAtOf(p["send_at"]),
  };
}

/** What a person writes. A formatted part is edited where it holds simple formatting only; else it can be left out. */
export type Fields = { to: Mailbox[]; cc: Mailbox[]; bcc: Mailbox[]; subject: string; text: string; html: string | null; files: FileFacts[]; send_at: SendAt | null };

export function fieldsOf(payload: unknown): Fields {
  const mail = emailOf(payload);
  return {
    to: mail.to.map((x) => ({ ...x })),
    cc: mail.cc.map((x) => ({ ...x })),
    bcc: mail.bcc.map((x) => ({ ...x })),
    subject: mail.subject,
    text: mail.text ?? "",
    html: mail.html,
    files: mail.attachments.map((x) => ({ ...x })),
    send_at: mail.send_at,
  };
}

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value as Loose).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, inner]) => [name, ordered(inner)]));
}

/** The same payload, whatever the order of its members. */
export function samePayload(a: unknown, b: unknown): boolean {
  return same(ordered(a), ordered(b));
}

/** The payload with a person's changes put in. Fields that were not touched keep their value and even their absence. */
export function withFields(payload: unknown, now: Fields): unknown {
  const before = fieldsOf(payload);
  const next: Loose = structuredClone((payload ?? {}) as Loose);
  for (const name of ["to", "cc", "bcc"] as const) if (!same(before[name], now[name])) next[name] = now[name].map((x) => ({ ...x }));
  if (before.subject !== now.subject) next["subject"] = now.subject;
  if (before.text !== now.text) next["text"] = now.text;
  if (before.html !== null && now.html === null) delete next["html"];
  else if (before.html !== now.html) next["html"] = now.html;
  if (!same(before.files, now.files)) next["attachments"] = now.files.map((x) => ({ ...x }));
  // Text that was kept before there was such a field has none: the time stays as it came.
  if (now.send_at === null && before.send_at !== null) delete next["send_at"];
  else if (now.send_at && !same(before.send_at, now.send_at)) next["send_at"] = { ...now.send_at };
  return next;
}

/** The same file under the same name: a file is what its bytes are. */
export function sameFile(a: FileFacts, b: FileFacts): boolean {
  return a.filename === b.filename && a.sha256 === b.sha256;
}

export function bytesText(size: number | undefined): string {
  if (size === undefined) return "";
  if (size < 1000) return w.sizeBytes(size);
  if (size < 1_000_000) return w.sizeKilo(Math.round(size / 1000));
  return w.sizeMega(size / 1_000_000);
}
