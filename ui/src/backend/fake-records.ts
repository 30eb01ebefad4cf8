// Pretend actions at records and at a destination that recognises a repeat.

import type { ActionDoc } from "../bindings/ActionDoc";
import type { ApprovalDoc } from "../bindings/ApprovalDoc";
import { type Letter, ago, destinations, email } from "./fake-data";

export function record(id: string, effect: string, letter: Letter, payload: unknown, more: Partial<ActionDoc>): ActionDoc {
  const contract = destinations.find((d) => d.kind === "hubspot")?.contracts[0] ?? null;
  return { ...email(id, letter, more), effect, destination: "Customer records", payload, contract, ...more };
}

/** The note and the task that belong to a reply: mock-ups 02 and 22. */
export function records(letter: Letter): ActionDoc[] {
  const company = { type: "company", match: { external_id: "K-10417" } };
  return [
    record("A-2043", "crm.note", letter, { record: company, text: "Complaint about order 2024-00817. Shelves leave on Thursday 16 May, arrive on Tuesday 21 May. 120 € taken off the invoice." }, { request_id: "inquiry-817", step: "log-note", after: "first-reply" }),
    record("A-2053", "crm.task", letter, { record: company, title: "Call Jürgen: did the shelves arrive?", text: "Ask about the back panels too.", due_at: ago(-60 * 24 * 6), assignee: "sam@brackenhall.example" }, { request_id: "inquiry-817", step: "call-back", after: "log-note" }),
  ];
}

/** Its answer got lost at a destination that answers a repeat with the first result. */
export function repeatable(approval: (id: string, minutes: number) => ApprovalDoc): ActionDoc {
  const contract = destinations.find((d) => d.kind === "resend")?.contracts[0] ?? null;
  return email(
    "A-2054",
    { name: "Ines Okafor", email: "ines@okafor-tea.example", subject: "Your order 5120", theirs: "When does it come? Ines", ours: "Hello Ines,\n\nOrder 5120 left today.\n\nNoor", minutes: 90 },
    {
      destination: "Orders",
      effect: "email.send",
      contract,
      state: "unknown",
      crossed_once: true,
      approvals: [approval("2054", 80)],
      attempts: [{ id: "t-2054", number: 1, started_at: ago(79), phase: "closed", crossed_at: ago(79), closed_at: ago(78), in_doubt: false, outcome: "unclear", evidence: {} }],
      next: { what: "person", at: null, text: "It stays unknown until you settle it." },
    },
  );
}
