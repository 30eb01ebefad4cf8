// Canned texts with fields: what is known is filled in, what is not is asked for, and what stays open stays a place that
// holds the approval back.

import type { ConversationDoc } from "../bindings/ConversationDoc";
import type { SnippetDoc } from "../bindings/SnippetDoc";
import type { SnippetField } from "../bindings/SnippetField";
import { plausible } from "./address";
import { isDate, isSum, theirWords } from "./facts";
import { placeholders } from "./placeholders";

export const fieldKinds = ["text", "number", "amount", "date", "email"] as const;
export type FieldKind = (typeof fieldKinds)[number];

const nameOf = (place: string) => place.replace(/^\{+|\}+$/g, "").trim();

/** The fields of a text in their order, each once; a kind that was chosen before stays. */
export function fieldsIn(text: string, before: readonly SnippetField[] = []): SnippetField[] {
  const names = [...new Set(placeholders(text).filter((place) => place.text.startsWith("{")).map((place) => nameOf(place.text)))];
  return names.map((name) => before.find((field) => field.name === name) ?? { name, kind: guess(name) });
}

function guess(name: string): FieldKind {
  if (/mail/i.test(name)) return "email";
  if (/date|day|datum|tag$/i.test(name)) return "date";
  if (/amount|price|sum|fee|betrag|preis/i.test(name)) return "amount";
  if (/order|invoice|number|nummer|^nr$|auftrag|rechnung/i.test(name)) return "number";
  return "text";
}

export function fits(kind: string, value: string): boolean {
  const text = value.trim();
  if (kind === "email") return plausible(text);
  if (kind === "date") return isDate(text);
  if (kind === "amount") return isSum(text);
  if (kind === "number") return /^[\p{L}#]{0,5}[-/ ]?\d[\p{L}\d .,/-]*$/u.test(text);
  return true;
}

const alike: Record<string, string> = { order: "order|auftrag|bestellung", invoice: "invoice|rechnung", customer: "customer|kunde|kundennummer", quote: "quote|offer|angebot", ticket: "ticket|case|vorgang", delivery: "delivery|lieferung" };

/** What the conversation says of a field; empty where it says nothing, or more than one thing. */
export function known(field: SnippetField, conversation: ConversationDoc | null, sender: string): string {
  const name = field.name.toLowerCase().replace(/[\s._-]+/g, "");
  const full = conversation?.from_name?.trim() ?? "";
  if (/^(name|fullname|customername|kundenname)$/.test(name)) return full;
  if (/^(firstname|vorname)$/.test(name)) return full.includes(",") ? "" : (full.split(/\s+/)[0] ?? "");
  if (/^(lastname|surname|nachname)$/.test(name)) return full.includes(",") || !full.includes(" ") ? "" : (full.split(/\s+/).at(-1) ?? "");
  if (/^(e?mail|emailaddress)$/.test(name)) return conversation?.from_email ?? "";
  if (/^(subject|betreff)$/.test(name)) return conversation?.subject ?? "";
  if (/^(sender|from|me|myname|absender)$/.test(name)) return sender;
  if (field.kind !== "number") return "";
  const base = field.name.replace(/[\s._-]*(number|no|nr|nummer|id)\.?$/i, "").toLowerCase() || field.name.toLowerCase();
  const word = alike[base] ?? base.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/[\s_-]+/g, "[\\s_-]+");
  const rule = new RegExp(`(?<!\\p{L})(?:${word})(?:s?nummer)?(?:[ -]*(?:no|nr|number|id)\\b\\.?)?\\s*[:#]*\\s*(\\p{Lu}{0,4}[-/]?\\d[\\p{Lu}\\d/-]*)`, "giu");
  const found = new Set([...theirWords(conversation).matchAll(rule)].map((match) => (match[1] as string).replace(/[-/]+$/, "")));
  return found.size === 1 ? ([...found][0] as string) : "";
}

/** The text with what was filled in; a field without a value keeps its place. */
export function filled(snippet: SnippetDoc, values: Readonly<Record<string, string>>): string {
  let out = "";
  let at = 0;
  for (const place of placeholders(snippet.text)) {
    const value = place.text.startsWith("{") ? (values[nameOf(place.text)] ?? "").trim() : "";
    out += snippet.text.slice(at, place.from) + (value || place.text);
    at = place.to;
  }
  return out + snippet.text.slice(at);
}
