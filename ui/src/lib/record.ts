// The payload of a record, ticket or webhook effect as the window draws it (interfaces.md). Pure.

type Loose = Record<string, unknown>;
const loose = (value: unknown): Loose | null => (value !== null && typeof value === "object" && !Array.isArray(value) ? (value as Loose) : null);

/** A value of a field as a person reads it; nothing and null are empty. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

export type Match = { by: string; value: string };

/** By what the record is found: one address, number or outside number. */
export function matchOf(match: unknown): Match | null {
  const pair = Object.entries(loose(match) ?? {})[0];
  return pair ? { by: pair[0], value: valueText(pair[1]) } : null;
}

export function recordOf(payload: unknown): { type: string; match: unknown } | null {
  const record = loose(loose(payload)?.["record"]);
  return record ? { type: valueText(record["type"]), match: record["match"] } : null;
}

export type Field = { name: string; seen: string | undefined; next: string };

/** Each field with what the draft saw there, where it told, and what it will be. */
export function changedFields(fields: unknown, expected: unknown): Field[] {
  const before = loose(expected);
  return Object.entries(loose(fields) ?? {}).map(([name, value]) => ({ name, seen: before && name in before ? valueText(before[name]) : undefined, next: valueText(value) }));
}

export function textOf(payload: unknown): string | null {
  const text = loose(payload)?.["text"];
  return typeof text === "string" ? text : null;
}

const drawn = new Set(["record", "match", "mode", "title", "subject", "due_at", "assignee", "expected", "expected_version", "of_step", "fields", "text", "html", "body"]);

/** What has no row of its own. */
export function rest(payload: unknown): [string, unknown][] {
  return Object.entries(loose(payload) ?? {}).filter(([name, value]) => !drawn.has(name) && value !== null);
}

/** One line that says which action it is, for lists and heads. */
export function headline(effect: string, payload: unknown): string {
  const p = loose(payload) ?? {};
  const first = [p["title"], p["subject"], p["text"]].find((x) => typeof x === "string" && x.trim() !== "") as string | undefined;
  if (first) return (first.trim().split("\n")[0] ?? "").slice(0, 120);
  const fields = Object.keys(loose(p["fields"]) ?? {});
  return fields.length ? fields.join(", ") : effect;
}
