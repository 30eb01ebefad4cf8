// What a newer version says otherwise than the one a person was writing on: shown before anything is chosen.

import { type Change, type Run, changes, textChanges } from "./changes";
import { fieldsOf, samePayload } from "./payload";

/** A member of the payload that the editor does not draw: what it was and what the newer version has there. */
export type Unseen = { name: string; removed: string; added: string };
export type Difference = { changes: Change[]; text: Run[] | null; unseen: Unseen[] };

type Loose = Record<string, unknown>;
const drawn = new Set(["to", "cc", "bcc", "subject", "text", "attachments", "send_at"]);

function plain(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(plain).join(", ");
  const email = (value as Loose)["email"];
  return typeof email === "string" ? email : JSON.stringify(value);
}

export function difference(base: unknown, newest: unknown): Difference {
  const [a, b] = [(base ?? {}) as Loose, (newest ?? {}) as Loose];
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((name) => !drawn.has(name) && !samePayload(a[name] ?? null, b[name] ?? null));
  const [mine, theirs] = [fieldsOf(base), fieldsOf(newest)];
  return {
    changes: changes(mine, theirs).filter((one) => one.where !== "text" && one.where !== "html"),
    text: mine.text === theirs.text ? null : textChanges(mine.text, theirs.text),
    unseen: names.map((name) => ({ name, removed: plain(a[name]), added: plain(b[name]) })),
  };
}
