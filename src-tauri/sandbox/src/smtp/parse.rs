//! What the SMTP server understands: paths, parameters, xtext, SASL answers, and what is wrong with a message.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// A reply: code, enhanced code, text.
pub(super) type Refusal = (u16, &'static str, &'static str);

/// The longest line of a message without its CRLF (RFC 5321 4.5.3.1.6).
pub(super) const LINE_LIMIT: usize = 998;

/// `FROM:<a@b> KEY=VALUE` taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) address: String,
    pub(super) parameters: Vec<(String, Option<String>)>,
}

/// Parses what follows MAIL or RCPT; `keyword` is `FROM:` or `TO:`.
pub(super) fn path(text: &str, keyword: &str) -> Result<Path, Refusal> {
    const SYNTAX: Refusal = (501, "5.5.4", "syntax error in path");
    let start = text.get(..keyword.len()).filter(|start| start.eq_ignore_ascii_case(keyword)).ok_or(SYNTAX)?;
    let rest = text[start.len()..].strip_prefix('<').ok_or(SYNTAX)?;
    let end = path_end(rest).ok_or(SYNTAX)?;
    let tail = &rest[end + 1..];
    if !tail.is_empty() && !tail.starts_with(' ') {
        return Err(SYNTAX);
    }
    let parameters = tail
        .split(' ')
        .filter(|word| !word.is_empty())
        .map(|word| match word.split_once('=') {
            Some((key, value)) => (key.to_uppercase(), Some(value.to_owned())),
            None => (word.to_uppercase(), None),
        })
        .collect();
    Ok(Path { address: rest[..end].to_owned(), parameters })
}

/// Where the `>` is that is not inside a quoted local part.
fn path_end(text: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (index, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '>' if !quoted => return Some(index),
            _ => {}
        }
    }
    None
}

/// Checks one address against RFC 5321 4.1.2 closely enough for a pretend server.
pub(super) fn check_address(address: &str, utf8_allowed: bool) -> Result<(), Refusal> {
    if !address.is_ascii() && !utf8_allowed {
        return Err((553, "5.6.7", "address needs SMTPUTF8"));
    }
    let Some((local, domain)) = address.rsplit_once('@') else {
        return Err((553, "5.1.3", "address has no domain"));
    };
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || !c.is_ascii())
    };
    let literal = domain.starts_with('[') && domain.ends_with(']') && domain.len() > 2;
    let atom = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || !c.is_ascii();
    let quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    let dotted = local.split('.').all(|part| !part.is_empty() && part.chars().all(atom));
    if local.len() > 64 || !(quoted || dotted) || !(literal || domain.split('.').all(label)) {
        return Err((553, "5.1.3", "bad address syntax"));
    }
    Ok(())
}

/// Decodes xtext (RFC 3461 4). `None` when it is not xtext.
pub(super) fn xtext(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'+' => {
                let hex = text
                    .get(at + 1..at + 3)
                    .filter(|hex| hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'A'..=b'F')))?;
                out.push(u8::from_str_radix(hex, 16).ok()?);
                at += 3;
            }
            b'!'..=b'<' | b'>'..=b'~' => {
                out.push(bytes[at]);
                at += 1;
            }
            _ => return None,
        }
    }
    String::from_utf8(out).ok()
}

/// User and password of a decoded SASL PLAIN answer.
pub(crate) fn sasl_plain(encoded: &str) -> Option<(String, String)> {
    let decoded = STANDARD.decode(encoded).ok()?;
    let mut parts = decoded.split(|byte| *byte == 0).map(|part| String::from_utf8(part.to_vec()).ok());
    let _acting_as = parts.next()??;
    let (user, password) = (parts.next()??, parts.next()??);
    parts.next().is_none().then_some((user, password))
}

/// User and token of the first message of XOAUTH2 or OAUTHBEARER (RFC 7628, 3.1), told apart by how it begins.
pub(crate) fn sasl_bearer(encoded: &str) -> Option<(String, String)> {
    let text = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
    let body = text.strip_suffix("\x01\x01")?;
    let mut parts = body.split('\x01');
    let first = parts.next()?;
    let user = match first.strip_prefix("user=") {
        Some(user) => user.to_owned(),
        None => first.strip_prefix("n,a=")?.strip_suffix(',')?.replace("=2C", ",").replace("=3D", "="),
    };
    let token = parts.find_map(|part| part.strip_prefix("auth=Bearer "))?;
    Some((user, token.to_owned()))
}

pub(super) fn base64_text(encoded: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}

/// What is wrong with a whole message, if anything.
pub(super) fn flaw(bytes: &[u8], eight_bit: bool, utf8_headers: bool, limit: Option<u64>) -> Option<Refusal> {
    if limit.is_some_and(|limit| bytes.len() as u64 > limit) {
        return Some((552, "5.3.4", "message too big"));
    }
    if bytes.contains(&0) {
        return Some((554, "5.6.0", "NUL in message"));
    }
    for (index, byte) in bytes.iter().enumerate() {
        let bare = match byte {
            b'\n' => index == 0 || bytes[index - 1] != b'\r',
            b'\r' => bytes.get(index + 1) != Some(&b'\n'),
            _ => false,
        };
        if bare {
            return Some((554, "5.6.0", "bare CR or LF in message"));
        }
    }
    let too_long = |line: &[u8]| line.strip_suffix(b"\r").unwrap_or(line).len() > LINE_LIMIT;
    if bytes.split(|byte| *byte == b'\n').any(too_long) {
        return Some((554, "5.6.0", "line too long"));
    }
    if !utf8_headers && !crate::message::split(bytes).0.is_ascii() {
        return Some((554, "5.6.7", "8-bit header without SMTPUTF8"));
    }
    if !eight_bit && !bytes.is_ascii() {
        return Some((554, "5.6.1", "8-bit message without BODY=8BITMIME"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_their_parameters_are_taken_apart() {
        let parsed = path("FROM:<a@b.example> SIZE=12 BODY=8BITMIME SMTPUTF8", "FROM:");
        let expected = Path {
            address: "a@b.example".to_owned(),
            parameters: vec![
                ("SIZE".to_owned(), Some("12".to_owned())),
                ("BODY".to_owned(), Some("8BITMIME".to_owned())),
                ("SMTPUTF8".to_owned(), None),
            ],
        };
        assert_eq!(parsed, Ok(expected));
        assert_eq!(path("to:<\"a>b\"@c.example>", "TO:").map(|path| path.address), Ok("\"a>b\"@c.example".to_owned()));
        for wrong in ["FROM: <a@b>", "FROM:a@b", "FROM:<a@b", "FROM:<a@b>SIZE=1", "TO:<a@b>", ""] {
            assert!(path(wrong, "FROM:").is_err(), "{wrong}");
        }
    }

    #[test]
    fn addresses_are_checked() {
        for good in ["a@b", "a.b+c@d-e.example", "\"odd one\"@x.example", "a@[127.0.0.1]"] {
            assert!(check_address(good, false).is_ok(), "{good}");
        }
        for wrong in ["a", "@b", "a@", "a b@c", "a@-b", "a@b..c", ".a@b", "a@b>", "ü@b.example"] {
            assert!(check_address(wrong, false).is_err(), "{wrong}");
        }
        assert!(check_address("ü@b.example", true).is_ok());
    }

    // The examples of RFC 3461 section 4: "+" introduces two upper-case hexadecimal digits.
    #[test]
    fn xtext_is_decoded() {
        assert_eq!(xtext("QQ314159"), Some("QQ314159".to_owned()));
        assert_eq!(xtext("a+2Bb+3Dc"), Some("a+b=c".to_owned()));
        assert_eq!(xtext("a+2b"), None);
        assert_eq!(xtext("a=b"), None);
        assert_eq!(xtext("a b"), None);
    }

    #[test]
    fn plain_answers_are_decoded() {
        // RFC 4616 section 4: `<NUL>tim<NUL>tanstaaftanstaaf`.
        assert_eq!(sasl_plain("AHRpbQB0YW5zdGFhZnRhbnN0YWFm"), Some(("tim".to_owned(), "tanstaaftanstaaf".to_owned())));
        assert_eq!(sasl_plain("dGlt"), None);
        assert_eq!(sasl_plain("not base64"), None);
    }

    #[test]
    fn a_token_is_read_in_both_forms() {
        let read = |text: &str| sasl_bearer(&STANDARD.encode(text));
        let told = |user: &str, token: &str| Some((user.to_owned(), token.to_owned()));
        let standard = "n,a=us=2Cer@example.com,\x01host=h\x01port=143\x01auth=Bearer vF9d==\x01\x01";
        assert_eq!(read(standard), told("us,er@example.com", "vF9d=="));
        assert_eq!(read("user=u@example.com\x01auth=Bearer ya29\x01\x01"), told("u@example.com", "ya29"));
        for wrong in
            ["", "user=u\x01auth=Basic x\x01\x01", "user=u\x01auth=Bearer x\x01", "a=u\x01auth=Bearer x\x01\x01"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_message_with_a_flaw_is_found_out() {
        let refused = |bytes: &[u8]| flaw(bytes, false, false, Some(3000)).map(|(code, _, text)| (code, text));
        assert_eq!(refused(b"A: b\r\n\r\ntext\r\n"), None);
        assert_eq!(refused(b"A: b\r\n\r\nte\nxt\r\n"), Some((554, "bare CR or LF in message")));
        assert_eq!(refused(b"A: b\r\n\r\nte\rxt\r\n"), Some((554, "bare CR or LF in message")));
        assert_eq!(refused(b"A: b\r\n\r\nte\0xt\r\n"), Some((554, "NUL in message")));
        assert_eq!(refused("A: b\r\n\r\ntäxt\r\n".as_bytes()), Some((554, "8-bit message without BODY=8BITMIME")));
        assert_eq!(refused("A: ä\r\n\r\ntext\r\n".as_bytes()), Some((554, "8-bit header without SMTPUTF8")));
        assert_eq!(refused(&[b'x'; 999]), Some((554, "line too long")));
        assert_eq!(refused(&[b'x'; 3001]), Some((552, "message too big")));
        assert_eq!(refused(&[&[b'x'; 998][..], b"\r\n"].concat()), None);
    }
}
