//! The two parts of a message, plain and formatted: each recipient sees one of them, so both must say the same.
//!
//! Compared are the words as they are read, in their order, with their sums, dates and times. What only one way of writing has
//! is no difference: line breaks, marks of emphasis, bullets and numbers of a list, the address written behind a link.

use super::html::{self, Page};
use super::{Finding, Weight};
use std::collections::{BTreeMap, BTreeSet};
use url::Url;

/// Words shown of each part.
const SHOWN: usize = 6;

/// One finding at most. Where the formatted part is too large to be read, another finding says so.
pub(super) fn finding(text: &str, html: &str) -> Option<Finding> {
    let Page { words, links } = html::page(html)?;
    let (plain, formatted) = (Part::of(text, words.lists > 0), Part::of(&words.text, false));
    // A link's address may stand in the plain part only; what it says is read in both.
    let foreign = plain.links.iter().filter(|url| !links.contains(*url) && !formatted.links.contains(*url));
    let unwritten = formatted.links.difference(&plain.links);
    let (foreign, unwritten): (Vec<&String>, Vec<&String>) = (foreign.collect(), unwritten.collect());
    let same_links = foreign.is_empty() && unwritten.is_empty();
    if plain.words == formatted.words && same_links {
        return None;
    }
    let (mut only_plain, mut only_formatted) = (plain.without(&formatted), formatted.without(&plain));
    only_plain.extend(foreign.into_iter().map(String::as_str));
    only_formatted.extend(unwritten.into_iter().map(String::as_str));
    // In another order each sum stands beside another name.
    let moved = only_plain.is_empty() && only_formatted.is_empty();
    let differing = only_plain.iter().chain(&only_formatted).any(|word| is_fact(word));
    let facts = !same_links || differing || (moved && plain.words.iter().any(|word| is_fact(word)));
    let says = match (only_plain.is_empty(), only_formatted.is_empty()) {
        (true, true) => " They have the same words in another order.".to_owned(),
        _ => said("plain", &only_plain) + &said("formatted", &only_formatted),
    };
    let text = format!("The plain and the formatted part say different things; each recipient sees one of them.{says}");
    let weight = if facts { Weight::Stop } else { Weight::Look };
    Some(Finding::new("parts_differ", "html", weight, text).holding())
}

/// What a part says, ready to be compared.
struct Part {
    words: Vec<String>,
    links: BTreeSet<String>,
}

impl Part {
    /// `listed`: numbers at the beginning of a line may count the points of a list, which HTML counts by itself.
    fn of(text: &str, listed: bool) -> Part {
        let (mut words, mut links) = (Vec::new(), BTreeSet::new());
        for line in text.lines() {
            let line = if listed { uncounted(line) } else { line };
            for chunk in line.split_whitespace() {
                match link_in(chunk) {
                    Some((before, url, after)) => {
                        words_of(before, &mut words);
                        links.insert(url);
                        words_of(after, &mut words);
                    }
                    None => words_of(chunk, &mut words),
                }
            }
        }
        Part { words, links }
    }

    /// The words that the other part has not, or not as often, in their order.
    fn without(&self, other: &Part) -> Vec<&str> {
        let mut left: BTreeMap<&str, usize> = BTreeMap::new();
        for word in &other.words {
            *left.entry(word).or_default() += 1;
        }
        let missing = self.words.iter().map(String::as_str).filter(|word| match left.get_mut(word) {
            Some(n @ 1..) => {
                *n -= 1;
                false
            }
            _ => true,
        });
        missing.collect()
    }
}

fn said(part: &str, words: &[&str]) -> String {
    if words.is_empty() {
        return String::new();
    }
    let more = if words.len() > SHOWN { " …" } else { "" };
    let shown: Vec<String> = words.iter().take(SHOWN).map(|word| html::shortened(word)).collect();
    format!(" Only in the {part} part: \"{}{more}\".", shown.join(" "))
}

fn is_fact(word: &str) -> bool {
    word.chars().any(|c| c.is_numeric() || is_sign(c) || c == '−')
}

/// Signs that change what a number means.
fn is_sign(c: char) -> bool {
    matches!(c, '$' | '%' | '‰' | '¢'..='¥' | '\u{20A0}'..='\u{20CF}')
}

/// A number's own marks: `1,200.50`, `10:30`, `2026-12-01`, `1/2`.
fn joins_digits(c: char) -> bool {
    matches!(c, '.' | ',' | ':' | '/' | '-' | '\'' | '’')
}

fn words_of(chunk: &str, out: &mut Vec<String>) {
    // A mark of a footnote that carries a link: `[1]`.
    let inner = chunk.trim_end_matches(['.', ',', ';', ':']).strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if inner.is_some_and(|n| !n.is_empty() && n.len() <= 2 && n.bytes().all(|b| b.is_ascii_digit())) {
        return;
    }
    let chars: Vec<char> = chunk.chars().filter(|c| !html::is_invisible(*c)).collect();
    let mut word = String::new();
    for (at, c) in chars.iter().enumerate() {
        let numeric = |i: Option<&char>| i.is_some_and(|c| c.is_numeric());
        let inside = joins_digits(*c) && at > 0 && numeric(chars.get(at - 1)) && numeric(chars.get(at + 1));
        // The combining marks of a letter belong to it, in whatever form it was written.
        if c.is_alphanumeric() || inside || matches!(c, '\u{0300}'..='\u{036F}') {
            word.extend(c.to_lowercase());
            continue;
        }
        if !word.is_empty() {
            out.push(std::mem::take(&mut word));
        }
        // A minus before a number, a sum's currency: the same digits with another one are another thing.
        let minus = matches!(c, '-' | '−') && numeric(chars.get(at + 1)) && at == 0;
        if is_sign(*c) || minus {
            out.push(if minus { "−".to_owned() } else { c.to_string() });
        }
    }
    if !word.is_empty() {
        out.push(word);
    }
}

/// A line without the number that counts it.
fn uncounted(line: &str) -> &str {
    let begun = line.trim_start();
    let digits = begun.bytes().take_while(u8::is_ascii_digit).count();
    match begun[digits..].strip_prefix(['.', ')']) {
        Some(rest) if (1..=2).contains(&digits) && rest.starts_with(char::is_whitespace) => rest,
        _ => line,
    }
}

/// The address of a page in a chunk without spaces, and what stands around it: `(https://…)`, `<https://…>`, `[x](https://…).`
fn link_in(chunk: &str) -> Option<(&str, String, &str)> {
    let lower = chunk.to_ascii_lowercase();
    let at = ["https://", "http://", "www."].iter().filter_map(|scheme| lower.find(scheme)).min()?;
    let opened = chunk[..at].chars().next_back();
    let closing = match opened {
        Some('(') => Some(')'),
        Some('<') => Some('>'),
        Some('[') => Some(']'),
        _ => None,
    };
    let rest = &chunk[at..];
    let end = closing.and_then(|c| rest.find(c)).unwrap_or(rest.len());
    let (url, after) = rest.split_at(end);
    let url = url.trim_end_matches(|c: char| ".,;:!?\"'”’>)]*_".contains(c));
    canonical(url).map(|link| (&chunk[..at], link, after))
}

/// An address as two spellings of it are one.
pub(super) fn canonical(href: &str) -> Option<String> {
    let href = href.trim();
    let with_scheme =
        if href.to_ascii_lowercase().starts_with("www.") { format!("http://{href}") } else { href.to_owned() };
    let url = Url::parse(&with_scheme).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let text = url.as_str().trim_end_matches('/');
    let text = text.split_once("://").map_or(text, |(_, rest)| rest);
    Some(text.strip_prefix("www.").unwrap_or(text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, html: &str) -> Option<(Weight, String)> {
        finding(text, html).map(|f| {
            assert!(f.holds, "a difference holds the approval: {}", f.text);
            assert_eq!((f.code, f.field.as_str()), ("parts_differ", "html"));
            (f.weight, f.text)
        })
    }

    #[test]
    fn r17_the_same_words_written_the_way_of_each_part_are_no_difference() {
        for (text, html) in [
            (
                "Hi Robin,\n\nyour slot is moved to 10:30.\n",
                "<p>Hi Robin,</p><p>your slot is <b>moved</b> to 10:30.</p>",
            ),
            (
                "*Important*: see your slot (https://shop.example/a?b=1).",
                "<i>Important</i>: see <a href=\"https://shop.example/a?b=1\">your slot</a>.",
            ),
            ("See [your slot](https://shop.example/a)", "See <a href='https://www.shop.example/a/'>your slot</a>"),
            ("See your slot [1].\n\n[1] https://shop.example/a", "See <a href='https://shop.example/a'>your slot</a>."),
            ("See https://shop.example/a", "See <a href='https://shop.example/a'>https://shop.example/a</a>"),
            ("See your slot", "See <a href='https://shop.example/a'>your slot</a>"),
            ("1. Pay\n2) Wait\n- Done", "<ol><li>Pay</li><li>Wait</li></ol><ul><li>Done</li></ul>"),
            (
                "We pay 1,200.50 € on 2026-12-01",
                "<style>p{margin:7px}</style>We pay <b>1,200.50&nbsp;€</b> on<br>2026-12-01",
            ),
            ("> Can I?\nOf course", "<blockquote>Can I?</blockquote><div>Of course</div>"),
            ("Grüße aus Zürich", "<p>Gr\u{AD}üße aus&#32;Z&uuml;rich</p>"),
            ("don't", "<p>don’t</p>"),
            ("", ""),
        ] {
            assert_eq!(told(text, html), None, "{text}");
        }
    }

    #[test]
    fn r17_parts_that_say_different_things_are_named_and_hold() {
        for (text, html, named) in [
            ("We refund 120 €.", "<p>We refund 210 €.</p>", ["\"120\"", "\"210\""]),
            ("We refund 120 €.", "<p>We refund 120 $.</p>", ["\"€\"", "\"$\""]),
            ("We pay 1,200", "<p>We pay 1.200</p>", ["\"1,200\"", "\"1.200\""]),
            ("On 3 May at 10:30", "<p>On 4 May at 11:30</p>", ["\"3 10:30\"", "\"4 11:30\""]),
            ("The balance is -5", "<p>The balance is 5</p>", ["\"−\"", "plain part"]),
            (
                "See https://shop.example/a",
                "<p>See <a href='https://evil.example/a'>here</a></p>",
                ["shop.example/a", "here"],
            ),
            (
                "Pay at https://shop.example/a",
                "<p>Pay at https://evil.example/a</p>",
                ["shop.example/a", "evil.example/a"],
            ),
            ("1. Pay 5\n2. Wait", "<p>Pay 5</p><p>Wait</p>", ["\"1 2\"", "plain part"]),
        ] {
            let (weight, says) = told(text, html).unwrap_or_else(|| panic!("{text} | {html}"));
            assert_eq!(weight, Weight::Stop, "{says}");
            assert!(named.iter().all(|part| says.contains(part)), "{says}");
        }
        let (weight, says) = told("Yes, you can come.", "<p>No, you can’t come.</p>").unwrap();
        assert_eq!(weight, Weight::Look, "{says}");
        assert!(says.contains("\"yes can\"") || says.contains("\"yes\""), "{says}");
        let (weight, says) =
            told("We pay 100 by May and 200 by June", "<p>We pay 200 by May and 100 by June</p>").unwrap();
        assert!(weight == Weight::Stop && says.contains("another order"), "{says}");
        let (_, says) = told("Yes", "<p></p>").unwrap();
        assert!(says.contains("Only in the plain part: \"yes\""), "{says}");
    }

    #[test]
    fn r17_what_no_browser_shows_does_not_count_as_said() {
        assert_eq!(told("Pay 5", "<head><title>Offer 9</title></head><script>var a = 7</script><p>Pay 5</p>"), None);
        assert!(told("Pay 5 or 7", "<p>Pay 5</p><!-- or 7 -->").is_some());
    }
}
