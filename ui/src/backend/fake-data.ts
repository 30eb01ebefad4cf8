// What the in-memory engine starts with: the people and texts of the mock-ups, one request in every state.

import { pdfDigest, programDigest, textDigest } from "./fake-files";
import { record, records, repeatable } from "./fake-records";
import type { ActionDoc } from "../bindings/ActionDoc";
import type { ContractDoc } from "../bindings/ContractDoc";
import type { DestinationRow } from "../bindings/DestinationRow";
import type { FindingDoc } from "../bindings/FindingDoc";
import type { JournalDoc } from "../bindings/JournalDoc";
import type { NotTakenRow } from "../bindings/NotTakenRow";

export const OWNER = "Noor Brackley";

export function ago(minutes: number, seconds = 0): string {
  return new Date(Date.now() - minutes * 60_000 - seconds * 1000).toISOString();
}

export function seq(n: number): JournalDoc["seq"] {
  return n as unknown as JournalDoc["seq"];
}

export const contract: ContractDoc = {
  destination: "Office mailbox",
  kind: "mailbox",
  effect: "email.reply",
  if_answer_lost: "We mark it Unknown. We stop, then look in your Sent folder. We never send it again on our own.",
  recognises_repeat: "No. A mail server has no memory of our key. A second try could reach the customer twice, so we don’t offer one.",
  can_be_looked_up: "Usually, in Sent. Finding it proves acceptance. Not finding it proves nothing.",
  certainty: 2,
  sources: ["RFC 5321 section 4.2.5, read 2026-10-02", "Seen against Postfix 3.7 and Dovecot 2.3"],
};

export const destinations: DestinationRow[] = [
  {
    name: "Office mailbox",
    kind: "mailbox",
    environment: "live",
    account: "orders@brackenhall.example",
    undo_seconds: 10,
    health: "reachable",
    health_text: "Last receipt 09:31 today",
    repeats_by_itself: null,
    contracts: [contract],
  },
  {
    name: "Workshop mailbox",
    kind: "mailbox",
    environment: "live",
    account: "noor@brackenhall.example",
    undo_seconds: 30,
    health: "reachable",
    health_text: "Last receipt yesterday",
    repeats_by_itself: null,
    contracts: [{ ...contract, destination: "Workshop mailbox", can_be_looked_up: "No. This mailbox has no server to read.", certainty: 1 }],
  },
  {
    name: "Orders",
    kind: "resend",
    environment: "live",
    account: "api.resend.com, orders@brackenhall.example",
    undo_seconds: 10,
    health: "reachable",
    health_text: "Last receipt 08:12 today",
    repeats_by_itself: true,
    contracts: ["email.send", "email.reply"].map((effect) => ({ destination: "Orders", kind: "resend", effect, if_answer_lost: "We finish under the same key. If the first one got through we get its receipt, if not this is the first.", recognises_repeat: "For 24 hours. Other content under the same key is refused.", can_be_looked_up: "By receipt. Not finding it proves nothing.", certainty: 3, sources: ["resend.com/docs, idempotency keys, read 2026-11-02"] })),
  },
  {
    name: "Customer records",
    kind: "hubspot",
    environment: "live",
    account: "HubSpot, Brackenhall",
    undo_seconds: 10,
    health: "reachable",
    health_text: "",
    repeats_by_itself: null,
    contracts: ["crm.note", "crm.task"].map((effect) => ({ destination: "Customer records", kind: "hubspot", effect, if_answer_lost: "We look it up, then you decide. Nothing is sent again by itself.", recognises_repeat: "No. A second one would be a second message, so we never send one by ourselves.", can_be_looked_up: "By our reference, after a delay. Not finding it proves nothing.", certainty: 2, sources: ["developers.hubspot.com, notes, read 2026-11-02"] })),
  },
];

export type Seed = Partial<ActionDoc> & { id: string };

export type Letter = { name: string; email: string; subject: string; theirs: string; ours: string; minutes: number };

let counter = 0;

function key(id: string): string {
  const n = Number(id.replace(/\D/g, "")).toString(16).padStart(12, "0");
  return `6f1c2a9e-04b7-4d1e-9c55-${n}`;
}

export function email(id: string, letter: Letter, more: Partial<ActionDoc> = {}): ActionDoc {
  counter++;
  const at = ago(letter.minutes);
  const request = more.request_id === undefined ? `inquiry-${id.slice(2)}` : more.request_id;
  const payload = {
    from: { email: "orders@brackenhall.example" },
    to: [{ name: letter.name, email: letter.email }],
    cc: [],
    bcc: [],
    reply_to: [],
    subject: `Re: ${letter.subject}`,
    text: letter.ours,
    html: null,
    in_reply_to: `<m${counter}@${letter.email.split("@")[1]}>`,
    references: [`<m${counter}@${letter.email.split("@")[1]}>`],
    attachments: [] as unknown[],
  };
  return {
    id,
    key: request
      ? { environment: "live", destination: "Office mailbox", effect: "email.reply", source: "Inbox agent", request_id: request, step: "first-reply", revision: 1 }
      : null,
    idempotency_key: request ? key(id) : null,
    state: "prepared",
    reason: null,
    revises: null,
    revised_by: null,
    owner: OWNER,
    payload_version: 1,
    payload,
    payload_hash: "",
    wire_hash: null,
    findings: [],
    approvals: [],
    attempts: [],
    lookups: [],
    receipt: null,
    filing: null,
    deliveries: [{ id: `d-${id}`, event_id: `evt-${88200 + counter}`, at, disposition: "created", reason: null }],
    delivery_events: [],
    next: null,
    explanation: "Nothing was sent yet. It leaves once, after an approval, under the one key that belongs to this action.",
    environment: "live",
    destination: "Office mailbox",
    effect: "email.reply",
    source: "Inbox agent",
    request_id: request,
    step: "first-reply",
    after: null,
    crossed_once: false,
    revised: false,
    by_word_of: null,
    created_at: at,
    changed_at: at,
    conversation: {
      from_name: letter.name,
      from_email: letter.email,
      subject: letter.subject,
      received_at: ago(letter.minutes + 29),
      message_id: `<m${counter}@${letter.email.split("@")[1]}>`,
      text: letter.theirs,
      html: null,
      checked: "matches",
    },
    draft: { source: "Inbox agent", run_id: `run-${counter}`, model: "any", reason: "answers the question", at },
    first_payload: null,
    previous_payload: null,
    contract,
    offers: [],
    journal: [
      { seq: seq(20400 + counter * 10), at, fact: "proposed", by: "source Inbox agent", text: "Inbox agent proposed it. Event seen once." },
      { seq: seq(20401 + counter * 10), at, fact: "prepared", by: "worker", text: "Version 1, the AI’s draft" },
    ],
    ...more,
  };
}

export function finding(code: string, field: string, weight: string, text: string, holds: boolean, cleared: string | null = null): FindingDoc {
  return { code, field, weight, text, holds, cleared };
}

export function line(n: number, minutes: number, secondsAgo: number, fact: string, by: string, text: string): JournalDoc {
  return { seq: seq(n), at: ago(minutes, secondsAgo), fact, by, text };
}

const marta = `Hello Noor,

Thank you for the photos of the sample. The oak looks lovely in daylight. Before I book the electrician I need to know two things:

1. Will order 4471 still arrive this week?
2. Can the driver bring it up to the second floor? Our lift is out until the 20th.

If it slips into next week that is fine, I would just rather know today.

Warm regards,
Marta Lindqvist
Fjord Keramik`;

export const martaReply = `Hello Marta,

Thank you for asking before booking. Order 4471 leaves our workshop on Thursday 16 May and reaches you on Friday 17 May, between 9 and 12.

The driver can carry it to the second floor. I have added that to the delivery note, which is attached. There is no extra charge.

If Friday morning does not suit you, tell me by Wednesday noon and we will move it.

Kind regards,
Noor Brackley
Brackenhall Workshop`;

function withFile(doc: ActionDoc, filename: string, size: number): ActionDoc {
  (doc.payload as { attachments: unknown[] }).attachments.push({ filename, content_type: filename.endsWith(".txt") ? "text/plain" : "application/pdf", size, sha256: filename.endsWith(".txt") ? textDigest : pdfDigest });
  return doc;
}

export function seeds(): ActionDoc[] {
  const approval = (id: string, minutes: number) => ({
    id: `ap-${id}`,
    by: OWNER,
    device: "this laptop",
    at: ago(minutes),
    payload_version: 1,
    payload_hash: "",
    wire_hash: "9d".repeat(32),
    expires_at: ago(minutes - 3 * 24 * 60),
    counts: true,
  });
  const out: ActionDoc[] = [];

  out.push(
    withFile(
      email(
        "A-2041",
        { name: "Marta Lindqvist", email: "marta@fjordkeramik.example", subject: "Delivery date for order 4471", theirs: marta, ours: martaReply, minutes: 12 },
        { findings: [finding("known_recipient", "to[0].email", "fact", "Known since 2022, 14 replies", false), finding("sender_verified", "conversation.from", "fact", "Domain verified", false)] },
      ),
      "delivery-note-4471.pdf",
      84_210,
    ),
  );

  const jurgen = {
    name: "Jürgen Großmann-Feldhäuser",
    email: "j.grossmann@schreinerei-feldhaeuser.example",
    subject: "Reklamation: Lieferverzögerung bei Auftragsbestätigung 2024-00817",
    theirs: `Guten Tag Frau Brackley,

wir warten seit dem 29. April auf die Regalböden aus der Auftragsbestätigung 2024-00817. Unsere Kundin, die Stadtteilbibliothek, eröffnet am 24. Mai.

Bitte teilen Sie uns verbindlich mit, wann die Ware bei uns eintrifft und ob die Rückwände bereits vorgebohrt sind.

Unsere Buchhaltung liest in Kopie mit.

Mit freundlichen Grüßen
Jürgen Großmann-Feldhäuser
Schreinerei Feldhäuser`,
    ours: `Guten Tag Herr Großmann-Feldhäuser,

Sie haben recht, und die Verspätung tut uns leid. Die Regalböden verlassen unsere Werkstatt am Donnerstag, 16. Mai und sind am Dienstag, 21. Mai, vormittags bei Ihnen. Die Rückwände sind vorgebohrt.

Wegen der Verzögerung ziehen wir 120 € von der Rechnung ab. Den überarbeiteten Lieferplan finden Sie im Anhang.

Mit freundlichen Grüßen
Noor Brackley`,
    minutes: 21,
  };
  const first = withFile(
    email("A-2042", jurgen, {
      request_id: "inquiry-817",
      findings: [
        finding("look_alike_domain", "cc[0].email", "stop", "One letter differs from the domain you know, schreinerei-feldhaeuser.example. You have written to that one 23 times and never to this one.", true),
        finding("bcc_present", "bcc[0].email", "note", "The other recipients won’t see this one.", false),
        finding("attachment_changed", "attachments[0]", "look", "The file differs from the one in the draft. Open it before you approve.", true),
      ],
    }),
    "Lieferplan-Auftragsbestätigung-2024-00817-überarbeitet.pdf",
    212_400,
  );
  const mail = first.payload as { cc: unknown[]; bcc: unknown[] };
  mail.cc.push({ email: "buchhaltung@schreinerei-feidhaeuser.example" });
  mail.bcc.push({ email: "archiv@brackenhall.example" });
  out.push(first);
  out.push(...records(jurgen));

  out.push(
    email(
      "A-2044",
      {
        name: "Brightwater Cafés, purchasing department",
        email: "purchasing@brightwater.example",
        subject: "Second invoice for the counter tops",
        theirs: "Hello,\n\nwe have received a second invoice for the counter tops. Was the first one replaced?\n\nBrightwater Cafés",
        ours: "Hello,\n\nYes: the second invoice replaces the first. Please pay only the second one, 1.240 €, by 30 May.\n\nKind regards,\nNoor Brackley",
        minutes: 48,
      },
      { findings: [finding("reply_to_differs", "to[0].email", "look", "The message came from invoices@brightwater.example and asks for answers to purchasing@brightwater.example. This draft answers to purchasing@brightwater.example.", true)] },
    ),
  );
  out.push(
    record("A-2055", "crm.deal.update", { name: "Brightwater Cafés, purchasing department", email: "purchasing@brightwater.example", subject: "Second invoice for the counter tops", theirs: "Hello,\n\nwe have received a second invoice for the counter tops. Was the first one replaced?\n\nBrightwater Cafés", ours: "", minutes: 48 }, { record: { type: "deal", match: { external_id: "Q-7718" } }, fields: { amount: 1240, next_step: "Paid by 30 May", discount: null }, expected: { amount: 1310, next_step: "" } }, { request_id: "inquiry-2044", step: "change-deal" }),
  );
  out.push(
    email(
      "A-2045",
      { name: "佐藤 美咲", email: "misaki@sato-books.example", subject: "本棚のお見積りについて（カタログ番号 B-204）", theirs: "お世話になっております。\n\nカタログ番号 B-204 の本棚について、お見積りをいただけますでしょうか。\n\n佐藤 美咲", ours: "佐藤様\n\nお問い合わせありがとうございます。B-204 のお見積りは 84,000 円です。\n\nNoor Brackley", minutes: 63 },
    ),
  );
  out.push(
    email(
      "A-2046",
      { name: "ليلى حدّاد", email: "layla@haddad-home.example", subject: "استفسار عن موعد تسليم طاولة الطعام", theirs: "مرحبا،\n\nأود أن أعرف موعد تسليم طاولة الطعام.\n\nشكرا،\nليلى", ours: "مرحبا ليلى،\n\nسنسلّم الطاولة يوم الخميس 16 مايو.\n\nNoor Brackley", minutes: 91 },
      { findings: [finding("first_time", "to[0].email", "note", "You have never written to this address.", false)] },
    ),
  );
  const priya = email(
    "A-2048",
    { name: "Ac\u200bme Priya Raman", email: "priya@raman-events.example", subject: "Tables for Saturday 🎉 one more bench?", theirs: "Hi!\n\nThe 🎉 is on Saturday, could we have one more bench?\n\nPriya", ours: "Hi Priya,\n\nOne more bench is no problem. It comes with the tables on Saturday, between 8 and 9.\n\nNoor", minutes: 115 },
  );
  (priya.payload as { attachments: unknown[] }).attachments.push({ filename: "invoice\u202efdp.exe", content_type: "application/pdf", size: 18_100, sha256: programDigest });
  priya.findings = [finding("can_run_programs", "attachments[0]", "stop", "The true type of this file is exe. Its name hides that with an unseen character.", true)];
  if (priya.conversation) priya.conversation.html = "<p>Hi!</p><p>The <b>🎉</b> is on Saturday, could we have one more <a href=\"https://bench.elsewhere.example/x\">www.brackenhall.example/bench</a>?</p><p>Priya</p>";
  out.push(priya);
  out.push(
    email("A-2049", {
      name: "Owen Castellanos-Wetherington for the Northern Shelving Co-operative",
      email: "owen@northern-shelving.example",
      subject: "Could you confirm the revised measurements before we sign off on the second batch?",
      theirs: "Dear Noor,\n\nCould you confirm the revised measurements before we sign off on the second batch?\n\nOwen",
      ours: "Dear Owen,\n\nConfirmed: 842 by 310 by 28 mm, 46 pieces. We start on Monday.\n\nNoor Brackley",
      minutes: 60 * 26,
    }),
  );

  // On the way
  out.push(
    email(
      "A-2039",
      { name: "Petra Vonk", email: "petra@vonk-interieur.example", subject: "Old address on the quote", theirs: "Hi, the quote has our old address. Petra", ours: "Hi Petra,\n\nHere is the quote with the new address.\n\nNoor", minutes: 30 },
      {
        state: "approved",
        approvals: [approval("2039", 6)],
        attempts: [{ id: "t-1", number: 1, started_at: ago(5), phase: "closed", crossed_at: null, closed_at: ago(5), in_doubt: false, outcome: "not_sent", evidence: { stage: "connect", code: "421" } }],
        next: { what: "attempt", at: ago(-5), text: "Next try" },
      },
    ),
  );
  out.push(
    email(
      "A-2040",
      { name: "Kit Harrow", email: "kit@harrow-studio.example", subject: "Is the lamp shade still available?", theirs: "Is it? Kit", ours: "Hello Kit,\n\nYes, two are left. I have put one aside for you.\n\nNoor", minutes: 24 },
      {
        state: "in_progress",
        approvals: [approval("2040", 1)],
        attempts: [{ id: "t-2", number: 1, started_at: ago(0, 4), phase: "crossed", crossed_at: ago(0, 2), closed_at: null, in_doubt: false, outcome: "open", evidence: {} }],
        crossed_once: true,
        request_id: "inquiry-kit",
      },
    ),
  );
  out.push(
    email(
      "A-2050",
      { name: "Kit Harrow", email: "kit@harrow-studio.example", subject: "Is the lamp shade still available?", theirs: "Is it? Kit", ours: "Hello Kit,\n\nThe invoice follows.\n\nNoor", minutes: 24 },
      { state: "approved", step: "second-mail", after: "first-reply", request_id: "inquiry-kit", approvals: [approval("2050", 1)], next: { what: "waits_for", at: null, text: "Leaves once A-2040 was accepted." } },
    ),
  );

  out.push(repeatable(approval));

  // Unknown
  const hugo = email(
    "A-2038",
    {
      name: "Hugo Amsel",
      email: "hugo@amsel-interiors.example",
      subject: "Question about invoice 1190",
      theirs: "Hello,\n\ninvoice 1190 has the transport line twice. Is that right?\n\nHugo",
      ours: "Hello Hugo,\n\nYou are right that the transport line was charged twice. I have taken it off, and the corrected invoice comes to 864 €. Nothing else has changed.\n\nKind regards,\nNoor Brackley",
      minutes: 40,
    },
    {
      state: "unknown",
      approvals: [approval("2038", 10)],
      attempts: [{ id: "t-3", number: 1, started_at: ago(9, 50), phase: "closed", crossed_at: ago(9, 49), closed_at: ago(9, 19), in_doubt: false, outcome: "unclear", evidence: { bytes: 6214, stage: "after_final_chunk", seconds_waited: 30 } }],
      lookups: [
        { at: ago(9, 14), sighting: "not_seen", strength: "weak", text: "Searched Sent for our reference. No match." },
        { at: ago(7, 14), sighting: "not_seen", strength: "weak", text: "Sent has 1,208 messages. No match." },
      ],
      next: { what: "look", at: ago(-3), text: "then 10 min later, then every hour" },
      crossed_once: true,
      explanation: "The mailbox took the whole message, then the line dropped before it answered. Nothing has been sent again, and nothing will be unless you decide so.",
      journal: [
        line(20431, 10, 0, "approved", OWNER, "You approved version 1. Held 10 s."),
        line(20432, 9, 50, "claimed", "worker", "Attempt 1 to Office mailbox"),
        line(20433, 9, 49, "crossing", "worker", "Message fully handed over, 6,214 bytes"),
        line(20434, 9, 19, "unclear", "destination", "Line dropped, no answer after 30 s. Marked Unknown."),
        line(20435, 9, 14, "looked", "worker", "Asked: is it in Sent? Searched for our reference. No match."),
        line(20436, 7, 14, "looked", "worker", "Asked again. Sent has 1,208 messages. No match."),
      ],
    },
  );
  out.push(hugo);
  out.push(
    email(
      "A-2010",
      { name: "Quarry Lane Books", email: "desk@quarrylane.example", subject: "Trade account terms", theirs: "What are your terms?", ours: "Thirty days, as for all trade accounts.\n\nNoor", minutes: 60 * 24 * 9 },
      {
        state: "closed_unknown",
        crossed_once: true,
        approvals: [approval("2010", 60 * 24 * 9 - 20)],
        attempts: [{ id: "t-4", number: 1, started_at: ago(60 * 24 * 9 - 20), phase: "closed", crossed_at: ago(60 * 24 * 9 - 20), closed_at: ago(60 * 24 * 9 - 20), in_doubt: false, outcome: "unclear", evidence: {} }],
      },
    ),
  );

  // Needs review
  out.push(
    email(
      "A-2036",
      { name: "Kestrel Supply, accounts department", email: "accounts@kestre1-supply.example", subject: "Updated bank details for invoice 1183", theirs: "Dear customer,\n\nour bank has changed. Please use the new account for invoice 1183 and all later ones. The details are attached.\n\nKindly confirm today so that your order is not delayed.\n\nAccounts department\nKestrel Supply", ours: "Hello,\n\nThank you, we will use the new account.\n\nNoor", minutes: 47 },
      {
        state: "needs_review",
        request_id: null,
        reason: "identity_missing: request_id",
        findings: [finding("look_alike_domain", "to[0].email", "stop", "One letter differs from the domain you know, kestrel-supply.example.", true), finding("sender_not_verified", "conversation.from", "look", "This message isn’t signed by kestre1-supply.example.", false)],
      },
    ),
  );
  out.push(
    email(
      "A-2035",
      { name: "Ines Duarte", email: "ines@duarte.example", subject: "Delivery on Friday?", theirs: "Please come on Monday instead. Ines", ours: "Hello Ines,\n\nWe come on Friday, as agreed.\n\nNoor", minutes: 190 },
      { state: "needs_review", reason: "situation_changed: the customer wrote again at 08:12", approvals: [{ ...approval("2035", 180), counts: false }] },
    ),
  );
  out.push(
    email(
      "A-2034",
      { name: "Bo Lindahl", email: "bo@lindahl.example", subject: "Where is my chair?", theirs: "It was due last week. Bo", ours: "Hello Bo,\n\nIt leaves today and is with you on Thursday.\n\nNoor", minutes: 240 },
      {
        state: "needs_review",
        reason: "put_back_after_crossing",
        crossed_once: true,
        wire_hash: "9d".repeat(32),
        approvals: [{ ...approval("2034", 230), counts: false }],
        attempts: [{ id: "t-5", number: 1, started_at: ago(229), phase: "closed", crossed_at: ago(229), closed_at: ago(229), in_doubt: false, outcome: "not_sent", evidence: { code: "451", text: "4.3.0 try again later" } }],
      },
    ),
  );
  out.push(
    email(
      "A-2033",
      { name: "Stefan Ohlsson", email: "stefan@ohlsson.example", subject: "Statement for April", theirs: "May I have it?", ours: "Hello Stefan,\n\nHere it is.\n\nNoor", minutes: 300 },
      {
        state: "refused",
        reason: "550 5.1.1 No such user here",
        approvals: [approval("2033", 290)],
        attempts: [{ id: "t-6", number: 1, started_at: ago(289), phase: "closed", crossed_at: null, closed_at: ago(289), in_doubt: false, outcome: "refused", evidence: { code: "550", text: "5.1.1 No such user here" } }],
      },
    ),
  );
  out.push(
    email(
      "A-2032",
      { name: "Mira Okafor", email: "mira@okafor.example", subject: "Two more stools", theirs: "Could we have two more?", ours: "Hello Mira,\n\nYes, they are on their way.\n\nNoor", minutes: 420 },
      {
        state: "gave_up",
        reason: "450 4.2.0 mailbox busy",
        approvals: [approval("2032", 410)],
        attempts: [1, 2, 3].map((n) => ({ id: `t-7${n}`, number: n, started_at: ago(410 - n * 10), phase: "closed", crossed_at: null, closed_at: ago(410 - n * 10), in_doubt: false, outcome: "not_sent", evidence: { code: "450", text: "4.2.0 mailbox busy" } })),
      },
    ),
  );

  // History
  const past: [string, string, string, number, string][] = [
    ["Atelier Weißdorn", "atelier@weissdorn.example", "Maßänderung Eckregal Besprechungszimmer Obergeschoss", 80, "accepted"],
    ["Sol Brandt", "sol@brandt.example", "Can I collect on Saturday?", 130, "accepted"],
    ["佐藤 美咲", "misaki@sato-books.example", "見本のご送付について", 60 * 24, "accepted"],
    ["Lena Moss", "lena@moss.example", "Colour of the oak", 60 * 25, "rejected"],
    ["Ada Fenwick-Osei", "ada@fenwick-osei.example", "Oak or ash for the landing", 60 * 26, "accepted"],
    ["Northern Shelving Co-op", "owen@northern-shelving.example", "Revised measurements, second batch", 60 * 27, "superseded"],
    ["فرقة دار الورق", "info@dar-alwaraq.example", "عرض سعر رفوف المكتبة", 60 * 28, "accepted"],
    ["Dara Whitcombe", "dara@whitcombe.example", "Bench for the hallway", 60 * 24 * 3, "accepted"],
  ];
  past.forEach(([name, address, subject, minutes, state], i) => {
    const id = `A-${1990 - i}`;
    const done = state === "accepted";
    out.push(
      email(
        id,
        { name, email: address, subject, theirs: "Thank you for your message.", ours: `Hello,\n\nthank you for asking.\n\nKind regards,\nNoor Brackley`, minutes },
        {
          state,
          approvals: done ? [approval(id, minutes - 5)] : [],
          attempts: done ? [{ id: `t-${id}`, number: 1, started_at: ago(minutes - 5, -10), phase: "closed", crossed_at: ago(minutes - 5, -11), closed_at: ago(minutes - 5, -12), in_doubt: false, outcome: "accepted", evidence: { code: "250" } }] : [],
          crossed_once: done,
          receipt: done ? { kind: "answer", at: ago(minutes - 5, -12), reference: `4F2C8${i}`, text: `250 2.0.0 queued as 4F2C8${i}`, by: null } : null,
          filing: done ? { state: "already_present", text: "The server files sent messages itself." } : null,
          journal: [
            line(20100 + i * 12, minutes, 0, "proposed", "source Inbox agent", "Proposed"),
            ...(done
              ? [
                  line(20104 + i * 12, minutes - 5, 0, "approved", OWNER, "Approved"),
                  line(20105 + i * 12, minutes - 5, -10, "claimed", "worker", "Taken up by the worker"),
                  line(20106 + i * 12, minutes - 5, -11, "crossed", "worker", "About to be handed over"),
                  line(20107 + i * 12, minutes - 5, -12, "accepted", "worker", "Accepted"),
                  line(20108 + i * 12, minutes - 5, -13, "filing", "worker", "Recorded"),
                ]
              : [line(20104 + i * 12, minutes - 5, 0, state === "rejected" ? "rejected" : "revised", OWNER, "Recorded")]),
          ],
          revised_by: state === "superseded" ? "A-2019" : null,
          explanation: done
            ? "There was one attempt. It carried the one key of this action, and Office mailbox answered it with a receipt. After a receipt nothing of this action is handed over again."
            : "Nothing was sent.",
        },
      ),
    );
  });
  return out;
}

export function notTakenRows(): NotTakenRow[] {
  return [
    { delivery: "d-7781", source: "Quote builder", at: ago(200), disposition: "not_permitted", reason: "Quote builder may not propose crm.task." },
    { delivery: "d-7779", source: "Inbox agent", at: ago(320), disposition: "conflict", reason: "evt-88213 came again with other content (field actions[0].payload.text)." },
  ];
}
