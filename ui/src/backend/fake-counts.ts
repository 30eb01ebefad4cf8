// Counts as the engine makes them, over the actions in memory; `?past` adds quiet weeks behind them, so that a chart has
// something to draw.

import type { ActionDoc } from "../bindings/ActionDoc";
import type { ActionRow } from "../bindings/ActionRow";
import type { InsightsDoc } from "../bindings/InsightsDoc";
import type { SettledDoc } from "../bindings/SettledDoc";
import type { TallyBin } from "../bindings/TallyBin";
import type { TallyDoc } from "../bindings/TallyDoc";

type Counted = { at: number; state: string; destination: string; unclear: boolean };

const day = 86_400_000;
const perDay = [14, 16, 12, 3, 1, 15, 18, 17, 13, 16, 4, 2, 19, 15, 14, 17, 12, 3, 1, 16, 18, 13, 15, 17, 5, 2, 18, 16, 14];
const ends: Record<string, string> = { "5 2": "refused", "12 3": "refused", "26 1": "gave_up", "19 0": "rejected", "8 4": "superseded" };
const people = ["Atelier Weißdorn", "Sol Brandt", "佐藤 美咲", "Petra Vonk", "Kestrel Supply", "Ada Fenwick-Osei", "Northern Shelving Co-op", "فرقة دار الورق"];

/** Rows of the last weeks, newest first. */
export function pastRows(like: ActionRow): ActionRow[] {
  const now = Date.now();
  const out: ActionRow[] = [];
  perDay.forEach((many, ago) => {
    for (let i = 0; i < many; i++) {
      const state = ends[`${ago} ${i}`] ?? "accepted";
      const at = new Date(now - (ago + 1) * day - i * 1_500_000).toISOString();
      const n = ago * 40 + i;
      out.push({ ...like, id: `A-${1900 - n}`, state, at, who: people[n % people.length] ?? "", subject: `Re: Order ${4300 - n}`, payload_hash: (n * 2654435761).toString(16).padStart(64, "b").slice(0, 64), receipt: state === "accepted" ? (n + 20_000_000).toString(16).toUpperCase() : null, finding: null, findings_open: 0, next: null, asked: 0, reason: null });
    }
  });
  return out;
}

function counted(docs: ActionDoc[], past: ActionRow[]): Counted[] {
  return [
    ...docs.map((doc) => ({ at: Date.parse(doc.changed_at), state: doc.state as string, destination: doc.destination, unclear: doc.attempts.some((one) => one.outcome === "unclear") })),
    ...past.map((row, i) => ({ at: Date.parse(row.at), state: row.state as string, destination: row.destination, unclear: i % 97 === 40 })),
  ];
}

export function tallyOf(docs: ActionDoc[], past: ActionRow[], starts: number[], destination: string): TallyDoc {
  const whole = starts.length > 1 && starts[0] === 0;
  const from = whole ? starts.slice(1) : starts;
  const first = from[0] ?? 0;
  const all = counted(docs, past).filter((one) => !destination || one.destination === destination);
  const bins = from.map((start): TallyBin => ({ start: new Date(start).toISOString(), accepted: 0, refused: 0, unknown: 0, not_sent: 0, on_the_way: 0, went_unknown: 0 }));
  const states: Record<string, number> = {};
  for (const one of all) {
    if (whole || one.at >= first) states[one.state] = (states[one.state] ?? 0) + 1;
    const at = from.findLastIndex((start) => start <= one.at);
    const bin = bins[at];
    if (!bin) continue;
    if (one.unclear) bin.went_unknown++;
    if (one.state === "accepted") bin.accepted++;
    else if (one.state === "refused" || one.state === "gave_up") bin.refused++;
    else if (one.state === "unknown" || one.state === "closed_unknown") bin.unknown++;
    else if (one.state === "rejected" || one.state === "superseded") bin.not_sent++;
    else if (one.state === "approved" || one.state === "in_progress") bin.on_the_way++;
  }
  return { states, bins, asked: docs.filter((doc) => doc.state === "unknown" && doc.next).length, two_receipts: 0 };
}

export function insightsOf(docs: ActionDoc[], past: ActionRow[], starts: number[]): InsightsDoc {
  const tally = tallyOf(docs, past, starts, "");
  const approved = docs.filter((doc) => doc.approvals.length > 0 && !doc.revises);
  const approvals = approved.length + past.length;
  const buckets = [0.23, 0.31, 0.25, 0.14, 0.05].map((share) => Math.floor(approvals * share));
  buckets.push(approvals - buckets.reduce((a, b) => a + b, 0));
  const unclear = docs.filter((doc) => doc.attempts.some((one) => one.outcome === "unclear"));
  const how = (doc: ActionDoc) => doc.receipt?.kind ?? (doc.state === "closed_unknown" || doc.state === "unknown" ? doc.state : doc.state === "superseded" ? "revised" : "not_sent");
  const many = new Map<string, number>();
  for (const doc of unclear) many.set(how(doc), (many.get(how(doc)) ?? 0) + 1);
  const more = past.length ? [["lookup", 11], ["answer", 6], ["person", 3], ["not_sent", 2]] : [];
  for (const [name, n] of more as [string, number][]) many.set(name, (many.get(name) ?? 0) + n);
  const open = (one: SettledDoc) => Number(["unknown", "closed_unknown", "under_way"].includes(one.how));
  const settled = [...many].map(([name, n]): SettledDoc => ({ how: name, many: n })).sort((a, b) => open(a) - open(b) || b.many - a.many);
  const sources = past.length
    ? [
        { source: "inbox-agent", approved: 268, as_written: 217 },
        { source: "quote-builder", approved: 72, as_written: 46 },
        { source: "late-invoice-helper", approved: 12, as_written: 11 },
      ]
    : [...new Set(approved.map((doc) => doc.source))].map((source) => {
        const own = approved.filter((doc) => doc.source === source);
        return { source, approved: own.length, as_written: own.filter((doc) => !doc.first_payload).length };
      });
  const codes = new Map<string, number>();
  for (const finding of docs.flatMap((doc) => doc.findings)) if (finding.cleared) codes.set(finding.code, (codes.get(finding.code) ?? 0) + 1);
  for (const [code, n] of (past.length ? [["look_alike_domain", 4], ["file_changed", 5], ["reply_to_differs", 3]] : []) as [string, number][]) codes.set(code, (codes.get(code) ?? 0) + n);
  return { tally, approvals, buckets: approvals ? buckets : [0, 0, 0, 0, 0, 0], median_seconds: approvals ? 13 * 60 + 40 : null, unclear: settled.reduce((sum, one) => sum + one.many, 0), settled, settled_median_seconds: settled.length ? 240 : null, sources, checks: [...codes].map(([code, n]) => ({ code, many: n })) };
}
