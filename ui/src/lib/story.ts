// An action's journal as the steps a person reads. The words are the ledger's; this chooses shapes and lines.

import type { ActionDoc } from "../bindings/ActionDoc";
import type { Step } from "../components/Timeline.svelte";
import { w } from "../words";

type Look = { icon: string; tone: string };

function lookOf(fact: string): Look {
  const f = fact.toLowerCase();
  if (/propos|received|created|late_draft|duplicate/.test(f)) return { icon: "source", tone: "grey" };
  if (/edit|draft_replaced/.test(f)) return { icon: "pen", tone: "grey" };
  if (/approv/.test(f)) return { icon: "sign", tone: "ink" };
  if (/undo|undone|put_back/.test(f)) return { icon: "undo", tone: "grey" };
  if (/accept|found|happened$/.test(f) && !/not_happen/.test(f)) return { icon: "s-accepted", tone: "green" };
  if (/unknown|unclear|doubt|stale/.test(f)) return { icon: "s-unknown", tone: "amber" };
  if (/refus|gave_up/.test(f)) return { icon: "s-refused", tone: "brick" };
  if (/reject/.test(f)) return { icon: "s-rejected", tone: "grey" };
  if (/look|sighting|asked/.test(f)) return { icon: "ask", tone: "grey" };
  if (/revis|supersed/.test(f)) return { icon: "branch", tone: "grey" };
  if (/verdict|did_not_happen|settle|confirm|leave|closed_unknown/.test(f)) return { icon: "receipt", tone: "ink" };
  if (/filed|filing/.test(f)) return { icon: "file", tone: "grey" };
  return { icon: "", tone: "" };
}

const crossing = (fact: string) => /cross/.test(fact.toLowerCase());
const lost = (fact: string) => /unknown|unclear|doubt/.test(fact.toLowerCase());

/** The first sentence names the step; what follows explains it. */
function split(text: string): [string, string] {
  const at = text.search(/[.?:] (?=\p{L})/u);
  if (at < 0 || at > 70) return text.length > 90 ? [text.slice(0, text.lastIndexOf(" ", 80)), text.slice(text.lastIndexOf(" ", 80) + 1)] : [text.replace(/\.$/, ""), ""];
  const keep = text[at] === "." ? at : at + 1;
  return [text.slice(0, keep), text.slice(at + 2)];
}

export function story(doc: ActionDoc, owner: string): Step[] {
  const steps: Step[] = doc.journal.map((entry, i) => {
    const next = doc.journal[i + 1];
    const [title, text] = split(entry.text || entry.fact.replaceAll("_", " "));
    const by = entry.by === owner || /^(worker|destination|engine|source .*)$/.test(entry.by) ? "" : entry.by;
    return {
      key: String(entry.seq),
      ...lookOf(entry.fact),
      title,
      text: [text, by].filter(Boolean).join(" · "),
      at: entry.at,
      hash: null,
      line: next && (lost(next.fact) || (crossing(entry.fact) && doc.state === "in_progress")) ? "gap" : "",
    };
  });
  const waits = doc.next && ["look", "attempt", "undo_ends"].includes(doc.next.what) ? doc.next : null;
  if (waits && steps.length) {
    (steps[steps.length - 1] as Step).line = "dot";
    const titles: Record<string, string> = { look: w.offer["ask"] ?? "", attempt: w.queued, undo_ends: w.held };
    steps.push({ key: "next", icon: "", tone: "", title: titles[waits.what] ?? w.next, text: waits.text, at: waits.at, hash: null, line: "next" });
  }
  return steps;
}
