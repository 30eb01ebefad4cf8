// Two texts, word by word.

import { diffWordsWithSpace } from "diff";

export type Run = { text: string; kind: "same" | "added" | "removed" };

/** Word by word; a space between two changed words belongs to one change, so that a phrase reads as a phrase. */
export function textChanges(before: string, after: string): Run[] {
  const parts = diffWordsWithSpace(before, after);
  const out: Run[] = [];
  let removed = "";
  let added = "";
  const flush = () => {
    // A space that both sides end with is no change.
    const space = /[ \t]+$/.exec(removed)?.[0] ?? "";
    const shared = space && added.endsWith(space) ? space : "";
    if (shared) {
      removed = removed.slice(0, -shared.length);
      added = added.slice(0, -shared.length);
    }
    if (removed) out.push({ text: removed, kind: "removed" });
    if (added) out.push({ text: added, kind: "added" });
    if (shared) out.push({ text: shared, kind: "same" });
    removed = added = "";
  };
  parts.forEach((part, i) => {
    const next = parts[i + 1];
    if (part.removed) removed += part.value;
    else if (part.added) added += part.value;
    else if ((removed || added) && /^[ \t]+$/.test(part.value) && next && (next.added || next.removed)) {
      removed += part.value;
      added += part.value;
    } else {
      flush();
      out.push({ text: part.value, kind: "same" });
    }
  });
  flush();
  return out;
}
