import { describe, expect, it } from "vitest";
import { compare, initials, partsOf, plausible } from "../src/lib/address";
import { changes, putBack, textChanges } from "../src/lib/changes";
import { facts, speaksOfFile } from "../src/lib/facts";
import { difference } from "../src/lib/newer";
import { fieldsOf, samePayload, withFields } from "../src/lib/payload";
import { splitQuote } from "../src/lib/quote";
import { changedFields, matchOf, rest } from "../src/lib/record";
import { digits, sealOf } from "../src/lib/seal";
import { isHeld, standing, wentWord } from "../src/lib/standing";
import { pieces } from "../src/lib/unseen";
import { localTimes } from "../src/lib/time";

const chips = (text: string, body = false) => pieces(text, body).flatMap((p) => (p.unseen ? [p.unseen] : []));

describe("unseen characters", () => {
  it("f28_zero_width_and_direction_overrides_are_chips_in_names_and_files", () => {
    expect(chips("Ac\u200bme Pay")).toEqual(["ZWSP"]);
    expect(chips("invoice\u202efdp.exe")).toEqual(["RLO"]);
    expect(chips("a\u00adb\u2066c\u2069\ufeff")).toEqual(["SHY", "LRI", "PDI", "BOM"]);
    expect(chips("line\nbreak")).toEqual(["U+000A"]);
  });
  it("f28_nothing_is_stripped", () => {
    const text = "Ac\u200bme \u202eyap";
    expect(pieces(text).map((p) => p.text ?? String.fromCodePoint(Number.parseInt(p.code.slice(2), 16))).join("")).toBe(text);
  });
  it("f28_line_ends_in_a_body_and_joiners_that_belong_to_a_script_are_ordinary_text", () => {
    expect(chips("one\ntwo\tthree", true)).toEqual([]);
    expect(chips("👩‍🔧 می‌خواهم")).toEqual([]);
    expect(chips("pay\u200dpal")).toEqual(["ZWJ"]);
  });
});

describe("addresses", () => {
  it("f29_the_domain_is_what_stands_after_the_last_at_outside_quotes", () => {
    expect(partsOf('"sales@rival.example"@example.test')).toEqual({ local: '"sales@rival.example"@', domain: "example.test" });
    expect(partsOf("noor@brackenhall.example").domain).toBe("brackenhall.example");
  });
  it("r17_the_comparison_marks_the_letters_that_differ", () => {
    const [mine, known] = compare("kestre1-supply.example", "kestrel-supply.example");
    expect(mine.filter((m) => m.differs).map((m) => m.text)).toEqual(["1"]);
    expect(known.filter((m) => m.differs).map((m) => m.text)).toEqual(["l"]);
  });
  it("r17_a_half_typed_address_is_not_added", () => {
    expect(plausible("sam@brackenhall.example")).toBe(true);
    for (const bad of ["sam", "sam@", "@x.example", "sam@x", "a b@x.example", "a@x.example, b@y.example"]) expect(plausible(bad), bad).toBe(false);
    expect(initials("Jürgen Großmann-Feldhäuser")).toBe("JF");
  });
});

describe("editing", () => {
  const payload = { from: { email: "a@b.example" }, to: [{ email: "c@d.example", name: null }], subject: "Re: x", text: "One.\n\nTwo tell me by noon.", in_reply_to: "<m@d>", attachments: [], unknown_zero: 0 };
  it("f14_an_untouched_payload_comes_back_the_same", () => {
    expect(JSON.stringify(withFields(payload, fieldsOf(payload)))).toBe(JSON.stringify(payload));
  });
  it("f14_absent_fields_stay_absent_and_an_emptied_one_stays_empty", () => {
    const next = withFields(payload, { ...fieldsOf(payload), text: "" }) as Record<string, unknown>;
    expect("cc" in next).toBe(false);
    expect(next["text"]).toBe("");
    expect(next["unknown_zero"]).toBe(0);
  });
  it("f16_what_a_newer_version_has_otherwise_is_named_whole", () => {
    const newest = { ...payload, text: "One.\n\nThree.", html: "<p>Three.</p>", reply_to: [{ email: "else@where.example" }], from: { email: "a@b.example" } };
    const { changes: listed, text, unseen } = difference(payload, newest);
    expect(listed).toEqual([]);
    expect(text?.filter((r) => r.kind !== "removed").map((r) => r.text).join("")).toBe(newest.text);
    expect(unseen).toEqual([{ name: "html", removed: "", added: "<p>Three.</p>" }, { name: "reply_to", removed: "", added: "else@where.example" }]);
    expect(difference(payload, { ...payload })).toEqual({ changes: [], text: null, unseen: [] });
    expect(samePayload({ a: 1, b: [{ c: 2, d: 3 }] }, { b: [{ d: 3, c: 2 }], a: 1 })).toBe(true);
    expect(samePayload({ a: [1, 2] }, { a: [2, 1] })).toBe(false);
  });
  it("r13_a_formatted_part_is_left_out_and_put_back", () => {
    const formatted = { ...payload, html: "<p>Two</p>" };
    const out = { ...fieldsOf(formatted), html: null };
    expect("html" in (withFields(formatted, out) as object)).toBe(false);
    const [change] = changes(fieldsOf(formatted), out);
    expect(change?.where).toBe("html");
    expect(withFields(formatted, putBack(fieldsOf(formatted), out, change!))).toEqual(formatted);
  });
  it("r13_changes_are_named_and_each_can_be_put_back", () => {
    const before = fieldsOf(payload);
    const after = { ...before, text: before.text.replace("tell me", "please call me"), cc: [{ email: "sam@b.example" }] };
    const list = changes(before, after);
    expect(list.map((c) => [c.where, c.removed.trim(), c.added.trim(), c.paragraph])).toEqual([
      ["cc", "", "sam@b.example", 0],
      ["text", "tell", "please call", 2],
    ]);
    let back = after;
    for (const change of [...list].reverse()) back = putBack(before, back, change);
    expect(back).toEqual(before);
  });
  it("f13_added_and_removed_text_makes_up_both_sides", () => {
    const [a, b] = ["The driver comes at 9 on Friday.", "The driver comes at 10 or 11 on Friday morning."];
    const runs = textChanges(a, b);
    expect(runs.filter((r) => r.kind !== "added").map((r) => r.text).join("")).toBe(a);
    expect(runs.filter((r) => r.kind !== "removed").map((r) => r.text).join("")).toBe(b);
  });
});

describe("what is drawn around a text", () => {
  it("r17_underlines_leave_the_text_as_it_is", () => {
    const text = "It leaves on Thursday 16 May and costs 45 € a chair; there is no extra charge.";
    expect(facts(text).map((r) => r.text).join("")).toBe(text);
    expect(facts(text).filter((r) => r.fact).map((r) => r.text)).toEqual(["Thursday 16 May", "45 € a chair", "no extra charge"]);
  });
  it("r17_a_number_the_customer_did_not_write_is_marked_however_it_is_grouped", () => {
    const theirs = "Order 4471 was 1,240 € and should come on 24 May.";
    const fresh = (ours: string) => facts(ours, theirs).filter((r) => r.fresh).map((r) => r.text);
    expect(fresh("Order 4471 costs 1.240 € and comes on 24 May.")).toEqual([]);
    expect(fresh("Order 4417 costs 1.420 € and comes on 25 May.")).toEqual(["4417", "1.420 €", "25 May"]);
    expect(facts("Order 4417", "").some((r) => r.fact), "nothing to compare with").toBe(false);
    expect(facts("Order 4417, please.", theirs).map((r) => r.text).join("")).toBe("Order 4417, please.");
  });
  it("r17_a_text_that_speaks_of_a_file_is_recognised", () => {
    expect(["Please find it attached.", "Den Plan finden Sie im Anhang."].every(speaksOfFile)).toBe(true);
    expect(["We attach great value to it.", "Der Anhänger ist da."].some(speaksOfFile)).toBe(false);
  });
  it("r12_quoted_history_is_told_from_the_message_and_nothing_is_lost", () => {
    const text = "Yes please.\n\nOn Tue, 3 Nov 2026 Noor Brackley wrote:\n> Shall we?\n> Noor";
    expect(splitQuote(text)).toEqual(["Yes please.", "On Tue, 3 Nov 2026 Noor Brackley wrote:\n> Shall we?\n> Noor"]);
    expect(splitQuote("> all of it is quoted\n> here")[1]).toBe("");
    expect(splitQuote("a\n> inline\nanswer")).toEqual(["a\n> inline\nanswer", ""]);
  });
  it("r12_every_member_of_a_record_payload_has_a_place", () => {
    const payload = { record: { type: "deal", match: { id: "7" } }, fields: { amount: 1240, note: null }, expected: { amount: 1310 }, colour: "blue" };
    expect(matchOf(payload.record.match)).toEqual({ by: "id", value: "7" });
    expect(changedFields(payload.fields, payload.expected)).toEqual([{ name: "amount", seen: "1310", next: "1240" }, { name: "note", seen: undefined, next: "" }]);
    expect(rest(payload)).toEqual([["colour", "blue"]]);
  });
  it("r12_one_changed_digit_draws_another_seal", () => {
    const a = "28f19ec8".repeat(8);
    const b = `38${a.slice(2)}`;
    expect(sealOf(a, 46)).not.toEqual(sealOf(b, 46));
    expect(sealOf(a, 22).bands).toHaveLength(1);
    expect(digits(a)).toBe("28F1 9EC8");
    expect(digits(a, 64).replaceAll(" ", "").toLowerCase()).toBe(a);
  });
  it("r37_times_in_sentences_are_shown_in_the_persons_zone", () => {
    const now = Date.parse("2026-11-30T10:00:00Z");
    expect(localTimes("Next try 2026-11-30T10:05:00Z.", now)).not.toContain("2026-");
  });
});

describe("the message before a revision", () => {
  it("f22_it_is_not_called_unsent_before_it_was_read_nor_on_nobodys_word", () => {
    expect(wentWord(null)).toBe("");
    expect(wentWord({ state: "accepted", by_word_of: null })).toBe("Already sent");
    expect(wentWord({ state: "in_progress", by_word_of: null })).toMatch(/^May have been/);
    expect(wentWord({ state: "superseded", by_word_of: "Sam" })).toBe("Not sent, by Sam’s word.");
    expect(wentWord({ state: "refused", by_word_of: null })).toBe("Not sent");
  });
});

describe("a time of its own", () => {
  it("f39_what_was_approved_for_a_time_is_not_held_and_says_when", () => {
    const now = Date.parse("2026-11-30T10:00:00Z");
    const next = { what: "scheduled", at: "2027-03-28T07:00:00Z", text: "Goes at 2027-03-28 09:00 in Europe/Berlin (UTC+02:00), which is 2027-03-28T07:00:00Z. Undo puts it back." };
    const doc = { state: "approved", destination: "support-mailbox", step: "first-reply", reason: null, crossed_once: false, next };
    expect(isHeld(doc as never, now)).toBe(false);
    const shown = standing(doc, now, "Noor");
    expect(shown.sentence).toContain("2027-03-28 09:00 in Europe/Berlin");
    expect(shown.sentence).not.toContain("07:00:00Z");
    expect(standing({ ...doc, next: { ...next, text: "" } }, now, "Noor").sentence).not.toContain("T07");
  });
});
