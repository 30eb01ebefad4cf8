// Where a message goes over into what was written before it. Pure.

const begins = [/^On .{6,120} wrote:$/i, /^Am .{6,120} schrieb.{0,60}:$/i, /^-{2,} ?(Original Message|Urspr\u00fcngliche Nachricht|Forwarded message) ?-{2,}$/i, /^_{10,}$/];

/** The message itself, and the history it quotes; the second is empty where there is none. */
export function splitQuote(text: string): [string, string] {
  const lines = text.split("\n");
  const at = lines.findIndex((line, i) => begins.some((rule) => rule.test(line.trim())) || (line.startsWith(">") && lines.slice(i).every((rest) => rest.startsWith(">") || rest.trim() === "")));
  if (at <= 0) return [text, ""];
  return [lines.slice(0, at).join("\n").trimEnd(), lines.slice(at).join("\n")];
}
