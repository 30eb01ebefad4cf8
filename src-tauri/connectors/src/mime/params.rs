//! File names in headers: RFC 2231 where needed, and an encoded-word in `name` for readers that know nothing else (F25).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A name that every reader takes in plain quotes.
fn is_plain(name: &str) -> bool {
    name.len() <= 60 && name.bytes().all(|b| b == b' ' || (b.is_ascii_graphic() && !b"\"\\;%*'=?".contains(&b)))
}

pub(super) fn disposition(filename: &str) -> String {
    if is_plain(filename) {
        return format!("attachment; filename=\"{filename}\"");
    }
    format!("attachment; {}", extended("filename", filename))
}

/// `key*=…`, or `key*0*=…; key*1*=…` where it is long.
fn extended(key: &str, value: &str) -> String {
    match percent_pieces(value).as_slice() {
        [one] => format!("{key}*=UTF-8''{one}"),
        many => {
            let numbered = many.iter().enumerate();
            let parts = numbered.map(|(i, p)| format!("{key}*{i}*={}{p}", if i == 0 { "UTF-8''" } else { "" }));
            parts.collect::<Vec<_>>().join("; ")
        }
    }
}

/// The type as proposed, with `name` added unless it brings one.
pub(super) fn content_type(proposed: &str, filename: &str) -> String {
    let has_name = proposed.split(';').skip(1).any(|p| {
        let key = p.split('=').next().unwrap_or_default().trim().to_ascii_lowercase();
        key == "name" || key.starts_with("name*")
    });
    let proposed = proposed.trim_end_matches([' ', ';']);
    if has_name {
        proposed.to_owned()
    } else if is_plain(filename) {
        format!("{proposed}; name=\"{filename}\"")
    } else if filename.contains(['"', ';', '\\']) {
        // Readers that decode before they split would cut an encoded-word of these in two.
        format!("{proposed}; {}", extended("name", filename))
    } else {
        format!("{proposed}; name=\"{}\"", encoded_words(filename))
    }
}

/// Percent-encoded, in pieces that fit a line and never split a character.
fn percent_pieces(name: &str) -> Vec<String> {
    const PIECE: usize = 50;
    let mut pieces = vec![String::new()];
    let mut bytes = [0u8; 4];
    for c in name.chars() {
        let mut encoded = String::new();
        for b in c.encode_utf8(&mut bytes).bytes() {
            if b.is_ascii_alphanumeric() || b"-._~".contains(&b) {
                encoded.push(char::from(b));
            } else {
                encoded.push_str(&format!("%{b:02X}"));
            }
        }
        match pieces.last_mut() {
            Some(last) if last.len() + encoded.len() <= PIECE => last.push_str(&encoded),
            _ => pieces.push(encoded),
        }
    }
    pieces
}

/// RFC 2047 words of at most 75 characters, each of whole characters.
pub(super) fn encoded_words(name: &str) -> String {
    const RAW: usize = 42;
    let mut words: Vec<String> = Vec::new();
    let mut raw = String::new();
    for c in name.chars() {
        if raw.len() + c.len_utf8() > RAW {
            words.push(STANDARD.encode(std::mem::take(&mut raw)));
        }
        raw.push(c);
    }
    words.push(STANDARD.encode(raw));
    words.iter().map(|w| format!("=?UTF-8?B?{w}?=")).collect::<Vec<_>>().join(" ")
}
