// A place in a text that was meant to be filled: {order}, {{ name }}, [your name]. The engine holds an approval back for
// the same ones (domain, risk/placeholders).

const rule = /\{\{?[ \t]*\p{L}[\p{L}\p{N}_ .-]{0,39}\}?\}|\[(?:your|customer|client|recipient|company|insert|add|enter|first|last|full|ihr|ihre|kunde|kunden|name|vorname|nachname|date|datum|amount|betrag|order number|invoice number|phone number|link here)(?![\p{L}\p{N}])[^\]\n]{0,40}\]/giu;

export type Place = { from: number; to: number; text: string };

export function placeholders(text: string): Place[] {
  return [...text.matchAll(rule)].map((match) => ({ from: match.index, to: match.index + match[0].length, text: match[0] }));
}
