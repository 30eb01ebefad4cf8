// From counted bins to bars: the same for History and Insights.

import type { TallyBin } from "../bindings/TallyBin";

/** Something that happened once in twenty: a mark above the bar. */
export type Mark = { shape: "refused" | "unknown"; many: number };
export type Bar = { key: string; label: string; name: string; value: number; soft?: boolean; marks: Mark[]; says: string };

/** One bar a bin: what was accepted, and a mark for each kind of exception. */
export function barsOf(bins: readonly TallyBin[], labels: readonly string[], names: readonly string[], says: (bin: TallyBin, name: string) => string, went = false): Bar[] {
  return bins.map((bin, i) => {
    const marks: Mark[] = [];
    if (bin.refused > 0) marks.push({ shape: "refused", many: bin.refused });
    const unknown = went ? bin.went_unknown : bin.unknown;
    if (unknown > 0) marks.push({ shape: "unknown", many: unknown });
    return { key: bin.start, label: labels[i] ?? "", name: names[i] ?? "", value: bin.accepted, marks, says: says(bin, names[i] ?? "") };
  });
}

export function sum(bins: readonly TallyBin[], of: (bin: TallyBin) => number): number {
  return bins.reduce((total, bin) => total + of(bin), 0);
}
