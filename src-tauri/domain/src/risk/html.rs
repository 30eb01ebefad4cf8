//! HTML bodies, read as a browser reads them: links whose text and target differ, and text that is there for machines but
//! not for the eye (F35).

use super::{Finding, Weight};
use crate::address::ascii_domain;
use ego_tree::iter::Edge;
use scraper::{ElementRef, Html, Node, Selector};
use std::collections::HashSet;
use url::Url;

/// The parser's time grows with the square of the depth, and a hostile mail is nothing but depth; an honest one has a few
/// thousand tags at most.
const TAGS_MAX: usize = 6_000;
const SELECTORS_MAX: usize = 500;
const SHOWN_MAX: usize = 60;
const FINDINGS_MAX: usize = 20;
/// Where a new line begins in the words.
const BLOCKS: [&str; 14] =
    ["p", "div", "br", "li", "ul", "ol", "tr", "td", "h1", "h2", "h3", "h4", "blockquote", "table"];
const WHITE: u32 = 0xff_ff_ff;

pub(super) fn findings(html: &str, field: &str) -> Vec<Finding> {
    if html.bytes().filter(|b| *b == b'<').count() > TAGS_MAX {
        let text = "This HTML is too large to be checked for hidden text and misleading links.";
        return vec![Finding::new("html_not_checked", field, Weight::Look, text).holding()];
    }
    let document = Html::parse_document(html);
    let mut all = links(&document, field);
    all.extend(hidden(&document, field));
    all
}

/// What a page says to a person, and where its links lead.
pub(super) struct Page {
    pub(super) words: Words,
    /// Addresses of pages, as [`super::parts::canonical`] writes them.
    pub(super) links: HashSet<String>,
}

/// The words a person is shown, blocks apart.
pub(super) struct Words {
    pub(super) text: String,
    /// How many lists in it are counted by the browser.
    pub(super) lists: usize,
}

/// None where it is too large to be read.
pub(super) fn page(html: &str) -> Option<Page> {
    if html.bytes().filter(|b| *b == b'<').count() > TAGS_MAX {
        return None;
    }
    let document = Html::parse_document(html);
    let lists = elements(&document).filter(|e| e.value().name() == "ol").count();
    let hrefs = elements(&document).filter(|e| matches!(e.value().name(), "a" | "area"));
    let links = hrefs.filter_map(|e| super::parts::canonical(e.attr("href")?)).collect();
    Some(Page { words: Words { text: words_of(&document), lists }, links })
}

/// The words a person is shown, blocks apart; None where it is too large to be read.
pub(super) fn words(html: &str) -> Option<String> {
    page(html).map(|page| page.words.text)
}

fn words_of(document: &Html) -> String {
    let mut out = String::new();
    for node in document.tree.root().descendants() {
        match node.value() {
            Node::Text(text) => {
                let inside = node.parent().and_then(ElementRef::wrap).map(|e| e.value().name());
                if !matches!(inside, Some("style" | "script" | "title" | "template")) {
                    out.push_str(text);
                }
            }
            Node::Element(element) if BLOCKS.contains(&element.name()) => out.push('\n'),
            _ => {}
        }
    }
    out
}

/// Characters that nobody sees and that turn nothing a person reads into another word.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{00AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}

/// Text as it is read: spaces run together, invisible characters gone.
fn read(text: &str) -> String {
    let seen: String = text.chars().filter(|c| !is_invisible(*c)).collect();
    seen.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(super) fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN_MAX).collect();
    if text.chars().count() > SHOWN_MAX {
        short.push('…');
    }
    short
}

/// An element's place in memory: it lives as long as its document.
type ElementId = *const scraper::node::Element;

fn id(element: ElementRef<'_>) -> ElementId {
    std::ptr::from_ref(element.value())
}

fn elements(document: &Html) -> impl Iterator<Item = ElementRef<'_>> {
    document.tree.root().descendants().filter_map(ElementRef::wrap)
}

// Links ---------------------------------------------------------------------------------------------------------------

fn links(document: &Html, field: &str) -> Vec<Finding> {
    let mut all = Vec::new();
    let mut said = HashSet::new();
    let mut add = |text: String| {
        if said.insert(text.clone()) {
            all.push(Finding::new("link_differs", field, Weight::Look, text).holding());
        }
    };
    for element in elements(document) {
        let name = element.value().name();
        if name == "base" && element.attr("href").is_some() {
            add("The HTML changes where its links lead (base).".to_owned());
        }
        let href = element.attr("href").or_else(|| element.attr("xlink:href"));
        let Some(href) = href.filter(|_| matches!(name, "a" | "area")) else { continue };
        let text = read(&element.text().collect::<String>());
        if let Some(said) = differs(&text, href) {
            add(said);
        }
    }
    all
}

/// One sentence if a link does not lead where its text says.
fn differs(text: &str, href: &str) -> Option<String> {
    let href: String = href.chars().filter(|c| !c.is_control()).collect();
    let Ok(target) = Url::parse(href.trim()) else {
        // Without a scheme it leads nowhere in a mail, unless it is a place in the message itself.
        let names_a_host = !href.trim().starts_with('#') && host_in(text).is_some();
        return names_a_host.then(|| format!("The link \"{}\" leads to no full address.", shortened(text)));
    };
    match target.scheme() {
        "http" | "https" => {
            let host = target.host_str().map(plain_host)?;
            if !target.username().is_empty() {
                return Some(format!("A link hides its target behind a name: it leads to {host}."));
            }
            let said = host_in(text)?;
            let same = said == host || host.ends_with(&format!(".{said}")) || said.ends_with(&format!(".{host}"));
            (!same).then(|| format!("The link says {said} and leads to {host}."))
        }
        "mailto" => {
            let to = target.path().to_lowercase();
            let said = text.split_whitespace().find(|word| word.contains('@'))?;
            let said = said.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
            let named = to.split(',').any(|address| address == said);
            (!named).then(|| format!("The link says {said} and writes to {to}."))
        }
        "tel" | "sms" | "cid" => None,
        other => Some(format!("A link of the kind {other}: is not an address of a page.")),
    }
}

fn plain_host(host: &str) -> String {
    let host = host.trim_end_matches('.').to_lowercase();
    host.strip_prefix("www.").map(str::to_owned).unwrap_or(host)
}

/// The host that a link's text names, if it reads like an address.
fn host_in(text: &str) -> Option<String> {
    text.split_whitespace().find_map(|word| {
        let word = word.trim_matches(|c: char| "()[]<>\"'“”‘’,;:!?".contains(c)).trim_end_matches('.');
        let lower = word.to_lowercase();
        if let Some(rest) = lower.strip_prefix("https://").or_else(|| lower.strip_prefix("http://")) {
            return Url::parse(&format!("http://{rest}")).ok().and_then(|u| u.host_str().map(plain_host));
        }
        let host = lower.split(['/', '?', '#', ':']).next().unwrap_or_default();
        if host.contains('@') {
            return None;
        }
        let (front, last) = host.rsplit_once('.')?;
        let like_a_domain = !front.is_empty() && last.chars().count() >= 2 && last.chars().all(char::is_alphabetic);
        let file = !lower.starts_with("www.") && FILES.contains(&last);
        (like_a_domain && !file).then(|| ascii_domain(host).ok()).flatten().map(|h| plain_host(&h))
    })
}

/// Ends of file names that would otherwise read as domains.
const FILES: [&str; 16] = [
    "pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "txt", "csv", "jpg", "jpeg", "png", "gif", "html", "htm", "xml",
];

// Hidden text ---------------------------------------------------------------------------------------------------------

fn hidden(document: &Html, field: &str) -> Vec<Finding> {
    let by_sheet = hidden_by_sheets(document);
    let mut all = Vec::new();
    // What the elements around the current one set: the background, and whether one of them is hidden already.
    let mut backgrounds = vec![Some(WHITE)];
    let mut inside: Option<ElementId> = None;
    for edge in document.tree.root().traverse() {
        match edge {
            Edge::Open(node) => {
                let Some(element) = ElementRef::wrap(node) else { continue };
                let behind = background_of(element).unwrap_or_else(|| *backgrounds.last().unwrap_or(&None));
                backgrounds.push(behind);
                if inside.is_some() || all.len() == FINDINGS_MAX {
                    continue;
                }
                let Some(how) = hides(element, behind, &by_sheet) else { continue };
                inside = Some(id(element));
                let text = read(&text_of(element));
                if !text.is_empty() {
                    let text = format!("Hidden from the eye ({how}): \"{}\"", shortened(&text));
                    all.push(Finding::new("hidden_text", field, Weight::Stop, text));
                }
            }
            Edge::Close(node) => {
                if let Some(element) = ElementRef::wrap(node) {
                    backgrounds.pop();
                    inside = inside.filter(|open| *open != id(element));
                }
            }
        }
    }
    all
}

/// Text below an element, without scripts and style sheets.
fn text_of(element: ElementRef<'_>) -> String {
    let mut out = String::new();
    for node in element.descendants() {
        let code = |n: &Node| n.as_element().is_some_and(|e| matches!(e.name(), "script" | "style" | "title"));
        if let Node::Text(text) = node.value()
            && !node.parent().is_some_and(|parent| code(parent.value()))
        {
            out.push_str(text);
            out.push(' ');
        }
    }
    out
}

/// What keeps an element's text from being seen.
fn hides(element: ElementRef<'_>, behind: Option<u32>, by_sheet: &HashSet<ElementId>) -> Option<&'static str> {
    let value = element.value();
    if matches!(value.name(), "html" | "head" | "title" | "script" | "style") {
        return None;
    }
    if value.attr("hidden").is_some() {
        return Some("hidden");
    }
    if value.name() == "template" {
        return Some("template");
    }
    if by_sheet.contains(&id(element)) {
        return Some("style sheet");
    }
    let style = value.attr("style").unwrap_or_default();
    if let Some(how) = style_hides(style) {
        return Some(how);
    }
    let of_font = value.attr("color").filter(|_| value.name() == "font").map(str::to_owned);
    let colour = declared(style, "color").or(of_font).and_then(|text| colour_of(&text));
    (colour.is_some() && colour == behind).then_some("same colour as its background")
}

/// Value of a property in a list of declarations, lower case, without `!important`; the last one counts.
fn declared(style: &str, property: &str) -> Option<String> {
    declarations(style).into_iter().rev().find(|(name, _)| name == property).map(|(_, value)| value)
}

fn declarations(style: &str) -> Vec<(String, String)> {
    let style = without_comments(style);
    style
        .split(';')
        .filter_map(|declaration| declaration.split_once(':'))
        .map(|(name, value)| {
            let value = value.trim().to_lowercase();
            let value = value.strip_suffix("!important").unwrap_or(&value).trim().to_owned();
            (name.trim().to_lowercase(), value)
        })
        .collect()
}

fn without_comments(style: &str) -> String {
    let mut out = String::new();
    let mut rest = style;
    while let Some(start) = rest.find("/*") {
        out.push_str(&rest[..start]);
        match rest[start + 2..].find("*/") {
            Some(end) => rest = &rest[start + 2 + end + 2..],
            None => return out,
        }
    }
    out + rest
}

/// A length or a bare number, in whatever unit; percentages and names are none.
fn number(value: &str) -> Option<f64> {
    let end = value.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))).unwrap_or(value.len());
    value[..end].parse().ok()
}

fn style_hides(style: &str) -> Option<&'static str> {
    let all = declarations(style);
    let get = |property: &str| all.iter().rev().find(|(name, _)| name == property).map(|(_, value)| value.as_str());
    let at_most = |property: &str, limit: f64| get(property).and_then(number).is_some_and(|n| n <= limit);
    if get("display") == Some("none") {
        return Some("display:none");
    }
    if matches!(get("visibility"), Some("hidden" | "collapse")) {
        return Some("visibility:hidden");
    }
    if get("mso-hide") == Some("all") {
        return Some("mso-hide");
    }
    if at_most("opacity", 0.1) {
        return Some("opacity");
    }
    let font =
        get("font-size").or_else(|| get("font").and_then(|f| f.split_whitespace().find(|p| number(p).is_some())));
    let tiny = |size: &str| {
        number(size).is_some_and(|n| n <= if size.ends_with("em") || size.ends_with('%') { 0.1 } else { 1.0 })
    };
    if font.is_some_and(tiny) {
        return Some("font-size");
    }
    let clipped = matches!(get("overflow"), Some("hidden" | "clip"));
    let flat = ["height", "max-height", "width", "max-width"].iter().any(|property| at_most(property, 1.0));
    if clipped && flat {
        return Some("no room");
    }
    let away = ["left", "top", "right", "bottom", "text-indent", "margin-left", "margin-top"];
    if away.iter().any(|property| at_most(property, -500.0)) {
        return Some("off the page");
    }
    let clip = get("clip").or_else(|| get("clip-path")).unwrap_or_default();
    if clip.starts_with("rect(0") || clip.starts_with("inset(100%") || clip.starts_with("inset(50%") {
        return Some("clipped");
    }
    if get("color") == Some("transparent") {
        return Some("transparent");
    }
    None
}

/// Colours as numbers where they are written in a way that hiding text uses; None for all others.
fn colour_of(text: &str) -> Option<u32> {
    let text = text.trim().to_lowercase();
    if let Some(digits) = text.strip_prefix('#') {
        let full = match digits.len() {
            3 => digits.chars().flat_map(|c| [c, c]).collect(),
            6 => digits.to_owned(),
            _ => return None,
        };
        return u32::from_str_radix(&full, 16).ok();
    }
    if let Some(inner) = text.strip_prefix("rgb(").and_then(|t| t.strip_suffix(')')) {
        let parts: Vec<u32> = inner.split([',', ' ']).filter_map(|p| p.trim().parse().ok()).collect();
        return match parts.as_slice() {
            [r, g, b] if *r < 256 && *g < 256 && *b < 256 => Some(r << 16 | g << 8 | b),
            _ => None,
        };
    }
    Some(match text.as_str() {
        "white" => WHITE,
        "black" => 0,
        "red" => 0xff_00_00,
        "blue" => 0x00_00_ff,
        "green" => 0x00_80_00,
        "yellow" => 0xff_ff_00,
        "gray" | "grey" => 0x80_80_80,
        "silver" => 0xc0_c0_c0,
        _ => return None,
    })
}

/// The background that an element sets; `Some(None)` where it sets one that cannot be compared.
fn background_of(element: ElementRef<'_>) -> Option<Option<u32>> {
    let style = element.value().attr("style").unwrap_or_default();
    let set = declared(style, "background-color").or_else(|| declared(style, "background"));
    let set = set.or_else(|| element.value().attr("bgcolor").map(str::to_owned))?;
    match set.as_str() {
        "transparent" | "inherit" | "none" => None,
        _ => Some(colour_of(&set)),
    }
}

/// Elements that a rule in a `style` element hides. Rules inside `@media` count as if they held.
fn hidden_by_sheets(document: &Html) -> HashSet<ElementId> {
    let mut ids = HashSet::new();
    let mut selectors = 0;
    for sheet in elements(document).filter(|e| e.value().name() == "style") {
        let css = without_comments(&sheet.text().collect::<String>());
        for (prelude, body) in rules(&css) {
            let Some(_) = style_hides(body) else { continue };
            selectors += 1;
            if selectors > SELECTORS_MAX {
                return ids;
            }
            if let Ok(selector) = Selector::parse(prelude) {
                ids.extend(document.select(&selector).map(id));
            }
        }
    }
    ids
}

/// The innermost `selector { declarations }` pairs of a sheet.
fn rules(css: &str) -> Vec<(&str, &str)> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut open: Option<(usize, usize)> = None;
    for (i, b) in css.bytes().enumerate() {
        match b {
            b'{' => {
                open = Some((start, i));
                start = i + 1;
            }
            b'}' => {
                if let Some((from, brace)) = open.take() {
                    out.push((css[from..brace].trim(), &css[brace + 1..i]));
                }
                start = i + 1;
            }
            b';' if open.is_none() => start = i + 1,
            _ => {}
        }
    }
    out
}
