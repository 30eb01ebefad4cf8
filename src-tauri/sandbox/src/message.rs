//! The little a mail server needs to know about a message: where its headers end and what they say.

/// The header block with the blank line's first CRLF, and the body after the blank line.
pub(crate) fn split(bytes: &[u8]) -> (&[u8], &[u8]) {
    if let Some(body) = bytes.strip_prefix(b"\r\n") {
        return (&bytes[..0], body);
    }
    match bytes.windows(4).position(|window| window == b"\r\n\r\n") {
        Some(at) => (&bytes[..at + 2], &bytes[at + 4..]),
        None => (bytes, &[]),
    }
}

/// The raw header fields in order, each with its folded lines and final CRLF.
pub(crate) fn fields(bytes: &[u8]) -> Vec<&[u8]> {
    let (mut rest, _) = split(bytes);
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let mut end = 0;
        loop {
            end += rest[end..].windows(2).position(|window| window == b"\r\n").map_or(rest.len() - end, |at| at + 2);
            if !matches!(rest.get(end), Some(b' ' | b'\t')) {
                break;
            }
        }
        fields.push(&rest[..end]);
        rest = &rest[end..];
    }
    fields
}

/// Name and unfolded value of one raw field.
pub(crate) fn name_and_value(field: &[u8]) -> Option<(String, String)> {
    let colon = field.iter().position(|byte| *byte == b':')?;
    let name = String::from_utf8_lossy(&field[..colon]).trim().to_owned();
    let value = String::from_utf8_lossy(&field[colon + 1..]).replace("\r\n", "").trim().to_owned();
    Some((name, value))
}

/// All unfolded values of the header with this name, in order.
pub fn header_values(bytes: &[u8], name: &str) -> Vec<String> {
    fields(bytes)
        .into_iter()
        .filter_map(name_and_value)
        .filter(|(found, _)| found.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
        .collect()
}

pub(crate) fn first_header(bytes: &[u8], name: &str) -> String {
    header_values(bytes, name).into_iter().next().unwrap_or_default()
}

/// The message with a new Message-ID and the old one kept beside it, as one large provider does (F07).
pub(crate) fn with_new_message_id(bytes: &[u8], new_id: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 128);
    let mut replaced = false;
    for field in fields(bytes) {
        match name_and_value(field) {
            Some((name, old)) if name.eq_ignore_ascii_case("message-id") && !replaced => {
                let kept = format!("Message-ID: {new_id}\r\nX-Microsoft-Original-Message-ID: {old}\r\n");
                out.extend_from_slice(kept.as_bytes());
                replaced = true;
            }
            _ => out.extend_from_slice(field),
        }
    }
    if !replaced {
        out.extend_from_slice(format!("Message-ID: {new_id}\r\n").as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(split(bytes).1);
    out
}

/// Whether the needle occurs in the text without regard to case, which is how IMAP searches.
pub(crate) fn contains_ignoring_case(text: &str, needle: &str) -> bool {
    text.to_lowercase().contains(&needle.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &[u8] =
        b"Subject: one\r\n two\r\nMessage-ID:\r\n <a@b.example>\r\nX-Empty:\r\n\r\nBody: no\r\n\r\nheader\r\n";

    #[test]
    fn folded_headers_are_unfolded_and_the_body_is_no_header() {
        assert_eq!(header_values(SAMPLE, "subject"), ["one two"]);
        assert_eq!(header_values(SAMPLE, "Message-Id"), ["<a@b.example>"]);
        assert_eq!(header_values(SAMPLE, "X-Empty"), [""]);
        assert!(header_values(SAMPLE, "Body").is_empty());
        assert_eq!(split(SAMPLE).1, b"Body: no\r\n\r\nheader\r\n");
    }

    #[test]
    fn f07_a_new_message_id_keeps_the_old_one_and_every_other_byte() {
        let changed = with_new_message_id(SAMPLE, "<new-77@provider.example>");
        let expected: &[u8] = b"Subject: one\r\n two\r\nMessage-ID: <new-77@provider.example>\r\n\
            X-Microsoft-Original-Message-ID: <a@b.example>\r\nX-Empty:\r\n\r\nBody: no\r\n\r\nheader\r\n";
        assert_eq!(changed, expected);
    }

    #[test]
    fn a_message_without_headers_or_without_a_body_is_no_trouble() {
        assert_eq!(split(b"\r\nonly body"), (&b""[..], &b"only body"[..]));
        assert!(fields(b"").is_empty());
        assert_eq!(header_values(b"Subject: x", "subject"), ["x"]);
    }
}
