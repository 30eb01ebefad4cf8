// @vitest-environment jsdom
import { DOMSerializer } from "prosemirror-model";
import { describe, expect, it } from "vitest";
import { changes, putBack } from "../src/lib/changes";
import { facts } from "../src/lib/facts";
import { fieldsOf, withFields } from "../src/lib/payload";
import { placeholders } from "../src/lib/placeholders";
import { beyond, formattedDoc, formattedHtml, formattedSchema, htmlOfText, partsAgree, textFollowing, textOfFormatted } from "../src/lib/prose/formatted";
import { withLine } from "../src/lib/prose/parts";
import { plainDoc, plainText } from "../src/lib/prose/plain";
import { blocksOf, positionOf, rangesOf, readingText } from "../src/lib/prose/reading";
import { fieldsIn, filled, fits, known } from "../src/lib/snippets";

describe("a plain text in the editor", () => {
  it("f14_every_text_comes_out_as_it_went_in", () => {
    const parts = ["", "a", " ", "\n", "\r\n", "\r", "\t", "\u200b", "\u202e", "👩‍🔧", "\u00a0", "é", "e\u0301", "\ud83d"];
    let seed = 7;
    const next = () => (seed = (seed * 1103515245 + 12345) % 2 ** 31);
    for (let round = 0; round < 500; round++) {
      const text = Array.from({ length: next() % 24 }, () => parts[(next() >> 8) % parts.length]).join("");
      expect(plainText(plainDoc(text)), JSON.stringify(text)).toBe(text);
    }
  });
  it("r13_a_place_in_the_words_is_a_place_in_the_document", () => {
    const doc = plainDoc("one\n\ntwo three");
    const blocks = blocksOf(doc);
    const text = readingText(doc);
    for (const word of ["one", "two", "three"]) {
      const at = text.indexOf(word);
      const [range] = rangesOf(blocks, at, at + word.length);
      expect(doc.textBetween(range!.from, range!.to)).toBe(word);
      expect(positionOf(blocks, at)).toBe(range!.from);
    }
    expect(rangesOf(blocks, 0, text.length)).toHaveLength(2);
  });
});

describe("a formatted part in the editor", () => {
  const html = "<p>Hello <b>Noor</b>,</p><ol start=\"3\"><li>oak</li><li>ash<ul><li>dark</li></ul></li></ol><blockquote><p>Is it <i>there</i>?</p></blockquote><h2>Then</h2><p><br></p><p>A&nbsp;&amp; B&lt;C<br>See <a href=\"https://b.example/x?a=1&amp;b=2\">this <u>page</u></a>.</p><hr>";
  it("r13_simple_formatting_survives_the_way_in_and_out", () => {
    expect(beyond(html)).toEqual([]);
    const once = formattedHtml(formattedDoc(html));
    expect(formattedHtml(formattedDoc(once))).toBe(once);
    expect(formattedDoc(once).eq(formattedDoc(html))).toBe(true);
    expect(once).toContain('<a href="https://b.example/x?a=1&amp;b=2">this <u>page</u></a>');
    expect(once).toContain("A\u00a0&amp; B&lt;C<br>See");
    expect(once).toContain('<ol start="3">');
    expect(once).toContain("<p><br></p>");
  });
  it("r13_what_it_would_lose_is_named", () => {
    expect(beyond("<p style='margin:0'>x</p>")).toEqual(["styles"]);
    expect(beyond("<table><tr><td>x</td></tr></table>")).toEqual(["tables"]);
    expect(beyond("<p>x<img src=cid:a></p>")).toContain("pictures");
    expect(beyond("<p>x</p><script>1</script>")).toEqual(["else"]);
    expect(beyond("<a href=\"javascript:x()\">x</a>")).toEqual(["else"]);
    expect(beyond("<p onclick=x>x</p>")).toEqual(["else"]);
    expect(beyond("<html><head><meta charset=utf-8><title>t</title></head><body><div>x</div></body></html>")).toEqual([]);
  });
  it("f35_nothing_that_runs_or_loads_comes_out", () => {
    const out = formattedHtml(formattedDoc("<p>a<script>x()</script><img src=x onerror=y()><a href=\"javascript:z()\">b</a><style>p{}</style></p><svg onload=q()></svg>\"<b onclick=1>c</b>"));
    expect(out).not.toMatch(/script|img|javascript|style|svg|on\w+=/i);
    expect(out).toContain("b");
  });
  it("f35_pasted_attributes_of_no_kind_the_editor_knows_are_not_written", () => {
    const { ordered_list, list_item, paragraph, heading, doc } = formattedSchema.nodes;
    const evil = '1"><img src=x onerror=y()>';
    expect(() => ordered_list!.create({ order: evil })).toThrow();
    expect(() => heading!.create({ level: evil })).toThrow();
    const pasted = doc!.create(null, [
      ordered_list!.create({ order: 1.5 }, list_item!.create(null, paragraph!.create(null, formattedSchema.text("a")))),
      heading!.create({ level: 9 }, formattedSchema.text("b")),
    ]);
    expect(formattedHtml(pasted)).toBe("<ol>\n<li>a</li>\n</ol>\n<h1>b</h1>");
    expect(() => DOMSerializer.fromSchema(formattedSchema).serializeFragment(pasted.content)).not.toThrow();
    expect(textOfFormatted(pasted)).toBe("1. a\n\nb");
  });
  it("f35_a_link_that_runs_something_is_no_link_however_it_came", () => {
    expect(formattedHtml(formattedDoc('<p><span data-href="javascript:z()">b</span></p>'))).toBe("<p>b</p>");
    const link = formattedSchema.text("b", [formattedSchema.mark("link", { href: "javascript:z()" })]);
    expect(formattedHtml(formattedSchema.node("doc", null, [formattedSchema.node("paragraph", null, [link])]))).toBe("<p>b</p>");
  });
  it("r13_parts_with_another_sign_unit_point_accent_or_target_do_not_agree", () => {
    const one = (html: string, text: string) => partsAgree(formattedDoc(`<p>${html}</p>`), text);
    expect(one("Refund -100 € by 1.50", "Refund -100 € by 1.50")).toBe(true);
    for (const other of ["Refund 100 € by 1.50", "Refund -100 $ by 1.50", "Refund -100 € by 1,50", "Refund -100 € by 1.50 %"]) expect(one("Refund -100 € by 1.50", other), other).toBe(false);
    expect(one("दिन", "दान")).toBe(false);
    const link = '<a href="https://a.example/1">Pay here</a>.';
    expect(one(link, "Pay here (https://a.example/1).")).toBe(true);
    expect(one(link, "Pay here <https://a.example/1/>.")).toBe(true);
    expect(one(link, "Pay here (https://b.example/1).")).toBe(false);
    expect(partsAgree(formattedDoc("<blockquote><p>old</p></blockquote><ul><li>5 a</li></ul><hr>"), "> old\n\n* 5 a\n\n======")).toBe(true);
  });
  it("r13_spaces_are_as_many_in_the_mail_as_on_the_screen", () => {
    expect(htmlOfText("a   b\n c")).toBe("<p>a\u00a0\u00a0 b<br>\u00a0c</p>");
    expect(htmlOfText("One.\r\n\r\nTwo & <three>.")).toBe("<p>One.</p>\n<p>Two &amp; &lt;three&gt;.</p>");
  });
  it("r13_the_plain_part_says_the_same_words", () => {
    const doc = formattedDoc(html);
    const text = textOfFormatted(doc);
    expect(text).toContain("3. oak\n4. ash");
    expect(text).toContain("> Is it there?");
    expect(text).toContain("this page (https://b.example/x?a=1&b=2).");
    expect(partsAgree(doc, text)).toBe(true);
    expect(partsAgree(doc, text.replace("oak", "elm"))).toBe(false);
    expect(partsAgree(formattedDoc("<p>Write to <a href=\"mailto:a@b.example\">a@b.example</a></p>"), "Write to a@b.example")).toBe(true);
  });
  it("r13_only_the_paragraph_that_changed_changes_in_the_text", () => {
    const before = formattedDoc("<p>One  two</p><ul><li>a</li><li>b</li></ul><p>End</p>");
    const after = formattedDoc("<p>One two</p><ul><li>a</li><li>b</li></ul><p>End here</p>");
    expect(textFollowing(before, "One\ntwo\n\n* a\n* b\n\nEnd", after)).toBe("One\ntwo\n\n* a\n* b\n\nEnd here");
  });
  it("r13_as_many_paragraphs_are_not_yet_the_same_and_line_ends_stay", () => {
    const before = formattedDoc("<p>a</p><p>b</p><p>c</p>");
    const after = formattedDoc("<p>a</p><p>b</p><p>d</p>");
    expect(textFollowing(before, "a\nb\n\nc\n\n", after)).toBe("a\n\nb\n\nd");
    expect(textFollowing(before, "a\r\n\r\nb\r\n\r\nc", formattedDoc("<p>a</p><p>b</p><p>c<br>d</p>"))).toBe("a\r\n\r\nb\r\n\r\nc\r\nd");
  });
  it("r13_a_change_that_both_parts_say_is_listed_once_and_put_back_in_both", () => {
    const payload = { to: [{ email: "a@b.example" }], subject: "x", text: "Hello Noor,\n\nsee you on Friday.", html: "<p>Hello <b>Noor</b>,</p><p>see you on Friday.</p>" };
    const before = fieldsOf(payload);
    const after = { ...before, html: "<p>Hello <strong>Noor</strong>,</p>\n<p>see you on <strong>Monday</strong>.</p>", text: "Hello Noor,\n\nsee you on Monday." };
    const list = changes(before, after);
    expect(list.map((c) => [c.where, c.removed, c.added, c.paragraph])).toEqual([["html", "Friday", "Monday", 2]]);
    const back = putBack(before, after, list[0]!);
    expect(back.text).toBe(before.text);
    expect(partsAgree(formattedDoc(back.html!), back.text)).toBe(true);
    const bold = { ...before, html: "<p>Hello Noor,</p>\n<p>see you on Friday.</p>" };
    const [formatting] = changes(before, bold);
    expect([formatting?.where, formatting?.removed, formatting?.added, formatting?.at]).toEqual(["html", "", "", -1]);
    expect(withFields(payload, putBack(before, bold, formatting!))).toEqual(payload);
  });
});

describe("the line of a revision", () => {
  const plain = { text: "Hello Noor,\n\nsee you.", html: null };
  const both = { text: "Hello Noor,\n\nsee you.", html: "<p>Hello <b>Noor</b>,</p><p>see you.</p>" };
  it("r28_it_goes_into_both_parts_and_out_again_to_the_byte", () => {
    const on = withLine(both, both, "This replaces it.", true);
    expect(on.text).toBe("Hello Noor,\n\nThis replaces it.\n\nsee you.");
    expect(on.html).toBe("<p>Hello <strong>Noor</strong>,</p>\n<p>This replaces it.</p>\n<p>see you.</p>");
    expect(withLine(on, both, "This replaces it.", false)).toEqual(both);
    expect(withLine(withLine(plain, plain, "This replaces it.", true), plain, "This replaces it.", false)).toEqual(plain);
  });
});

describe("what is looked at while writing", () => {
  it("r17_a_place_that_is_still_to_be_filled_is_found", () => {
    const found = (text: string) => placeholders(text).map((x) => x.text);
    expect(found("Dear {name}, order {{ order }} of [your company].")).toEqual(["{name}", "{{ order }}", "[your company]"]);
    expect(found("Kind regards,\n[Your Name]\n[Ihr Name]")).toEqual(["[Your Name]", "[Ihr Name]"]);
    expect(found("{ color: red } a[0] [1] [yourself] {} [see below] f(x) = {1, 2}")).toEqual([]);
  });
  it("r17_a_date_is_the_same_however_it_is_written_and_another_one_is_not", () => {
    const fresh = (ours: string, theirs: string) => facts(ours, theirs).filter((r) => r.fresh).map((r) => r.text);
    expect(fresh("It comes on 16.05.2026.", "Will it come on 16 May?")).toEqual([]);
    expect(fresh("It comes on 2026-05-16.", "Will it come on May 16?")).toEqual([]);
    expect(fresh("It comes on 16 June.", "Will it come on 16 May?")).toEqual(["16 June"]);
    expect(fresh("It comes on Friday.", "Will it come on Thursday?")).toEqual(["Friday"]);
    expect(fresh("Am Freitag, 16. Mai um 14 Uhr.", "Thursday 16 May")).toEqual(["Freitag, 16. Mai", "14 Uhr"]);
    expect(fresh("It comes on Friday.", "When does it come?")).toEqual([]);
    expect(fresh("It comes on 16/05/2026.", "On 16 May 2025?")).toEqual(["16/05/2026"]);
  });
  it("r17_sums_shares_and_counts_are_compared_too", () => {
    const fresh = (ours: string, theirs: string) => facts(ours, theirs).filter((r) => r.fresh).map((r) => r.text);
    expect(fresh("Six chairs: 1.240,00 €, 10 % off, in two weeks.", "It was 1240 EUR with 10 percent")).toEqual([]);
    expect(fresh("You get 12 % off and 3 chairs.", "10 % off 2 chairs")).toEqual(["12 %", "3"]);
    expect(facts("We refund it in 14 Tagen ohne Aufpreis.").filter((r) => r.fact).map((r) => r.text)).toEqual(["refund", "in 14 Tagen", "ohne Aufpreis"]);
  });
});

describe("snippets", () => {
  const talk = (subject: string, text: string) => ({ from_name: "Marta Lindqvist", from_email: "marta@fjordkeramik.example", subject, received_at: null, message_id: null, text, html: null, checked: "" }) as never;
  it("r13_fields_are_those_of_the_text_and_keep_their_kind", () => {
    expect(fieldsIn("{name} {order} {due date} {name}", [{ name: "order", kind: "text" }])).toEqual([{ name: "name", kind: "text" }, { name: "order", kind: "text" }, { name: "due date", kind: "date" }]);
  });
  it("r13_what_the_conversation_says_is_filled_in_and_nothing_is_guessed", () => {
    const say = (name: string, kind: string, subject: string, text = "") => known({ name, kind }, talk(subject, text), "Noor");
    expect(say("first_name", "text", "")).toBe("Marta");
    expect(say("email", "email", "")).toBe("marta@fjordkeramik.example");
    expect(say("order", "number", "Delivery date for order 4471", "Will order 4471 come?")).toBe("4471");
    expect(say("order", "number", "Bestellnummer und Bestellung Nr. B-20117")).toBe("B-20117");
    expect(say("invoice number", "number", "", "Invoice no. 2026/118 is wrong")).toBe("2026/118");
    expect(say("order", "number", "order 4471", "or order 4472")).toBe("");
    expect(say("price", "amount", "", "it was 45 €")).toBe("");
    expect(known({ name: "sender", kind: "text" }, null, "Noor")).toBe("Noor");
  });
  it("r13_values_go_into_their_places_and_an_empty_one_stays_open", () => {
    const one = { name: "x", text: "Dear {name}, {order} and {name}. [your name]", fields: [] };
    expect(filled(one, { name: "Marta $& {order}", order: " " })).toBe("Dear Marta $& {order}, {order} and Marta $& {order}. [your name]");
  });
  it("r13_a_value_fits_its_kind", () => {
    const good: [string, string[]][] = [["number", ["4471", "B-20117", "2026/118"]], ["amount", ["45 €", "1.240,00 €", "10 %", "EUR 5".replace("EUR 5", "5 EUR")]], ["date", ["16 May", "Friday", "16.05.2026", "Donnerstag, 16. Mai"]], ["email", ["a@b.example"]], ["text", ["anything"]]];
    for (const [kind, values] of good) for (const value of values) expect(fits(kind, value), `${kind} ${value}`).toBe(true);
    for (const [kind, value] of [["number", "soon"], ["amount", "cheap"], ["amount", "45"], ["date", "soon"], ["email", "marta"]] as const) expect(fits(kind, value), `${kind} ${value}`).toBe(false);
  });
});
