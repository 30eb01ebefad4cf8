//! Addresses and message ids. One strict reader for what is shown, what policy judges and what the envelope says: a
//! second one would, sooner or later, read another domain out of the same text.

use crate::fields::{Fields, at_most, expected, item, wrong};
use crate::json::FieldError;
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

/// A mailbox of a header: display name and address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mailbox {
    pub name: Option<String>,
    /// As written.
    pub email: String,
}

const NAME_MAX: usize = 500;
const ADDRESS_MAX: usize = 254;
const LOCAL_MAX: usize = 64;
/// A message id longer than this cannot be quoted with its header name in one line by every server.
pub const MESSAGE_ID_MAX: usize = 250;

/// Why a text is not an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadAddress(pub String);

fn bad<T>(reason: impl Into<String>) -> Result<T, BadAddress> {
    Err(BadAddress(reason.into()))
}

impl Mailbox {
    /// What follows the `@`, as written.
    pub fn domain(&self) -> &str {
        self.email.rsplit_once('@').map_or("", |(_, domain)| domain)
    }

    pub fn local(&self) -> &str {
        self.email.rsplit_once('@').map_or("", |(local, _)| local)
    }

    /// The domain in lower case and in its `xn--` form: what is compared and what goes into the envelope.
    pub fn ascii_domain(&self) -> String {
        ascii_domain(self.domain()).unwrap_or_else(|_| self.domain().to_lowercase())
    }

    /// The address as the envelope carries it: the local part untouched, the domain in ASCII.
    pub fn ascii_email(&self) -> String {
        format!("{}@{}", self.local(), self.ascii_domain())
    }

    /// What two spellings of one mailbox have in common: lower case, domain in ASCII. For comparing, never for sending.
    pub fn folded(&self) -> String {
        format!("{}@{}", self.local().to_lowercase(), self.ascii_domain())
    }

    /// Reads `{name?, email}` of a document.
    pub(crate) fn read(value: &Value) -> Result<Mailbox, FieldError> {
        let fields = Fields::of(value, &["name", "email"])?;
        let name = fields.text("name")?;
        if let Some(name) = name {
            header_value("name", name, NAME_MAX)?;
        }
        let email = fields.required_text("email")?;
        check_address(email).map_err(|e| wrong("email", e.0))?;
        Ok(Mailbox { name: name.map(str::to_owned), email: email.to_owned() })
    }

    /// Reads a list of `{name?, email}`; absent and null are no mailboxes.
    pub(crate) fn read_list(fields: &Fields<'_>, name: &str) -> Result<Vec<Mailbox>, FieldError> {
        let items = fields.list(name)?.iter().enumerate();
        items.map(|(i, value)| Mailbox::read(value).map_err(|e| e.within(&item(name, i)))).collect()
    }
}

/// `Name <local@domain>`, without quoting: for people. Rendering a header is the provider's work.
impl fmt::Display for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) if !name.is_empty() => write!(f, "{name} <{}>", self.email),
            _ => f.write_str(&self.email),
        }
    }
}

/// Reads `local@domain`, `Name <local@domain>` or `"Name, with comma" <local@domain>`, as in a destination file.
impl FromStr for Mailbox {
    type Err = BadAddress;
    fn from_str(text: &str) -> Result<Mailbox, BadAddress> {
        let text = text.trim();
        let Some(open) = text.rfind('<') else {
            check_address(text)?;
            return Ok(Mailbox { name: None, email: text.to_owned() });
        };
        let Some(email) = text[open + 1..].strip_suffix('>') else {
            return bad("the `<` has no `>` at the end");
        };
        check_address(email)?;
        let name = text[..open].trim();
        let name = match name.strip_prefix('"') {
            Some(rest) => unquote(rest)?,
            None if name.contains(['"', '<', '>', ',', ';', ':', '@']) => {
                return bad("a name with `,`, `;`, `:`, `@` or quotes must stand in quotes; only one address is taken");
            }
            None => name.to_owned(),
        };
        header_value("name", &name, NAME_MAX).map_err(|e| BadAddress(format!("the name {}", e.reason)))?;
        Ok(Mailbox { name: (!name.is_empty()).then_some(name), email: email.to_owned() })
    }
}

/// The text of a quoted string, without its opening quote.
fn unquote(rest: &str) -> Result<String, BadAddress> {
    let mut out = String::new();
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped) => out.push(escaped),
                None => break,
            },
            '"' if chars.as_str().is_empty() => return Ok(out),
            '"' => return bad("something stands between the quoted name and the `<`"),
            other => out.push(other),
        }
    }
    bad("the quote of the name is not closed")
}

/// Whether `text` is an address that every part of the product reads in the same way.
pub fn check_address(text: &str) -> Result<(), BadAddress> {
    if text.is_empty() {
        return bad("is empty");
    }
    if let Some(c) = text.chars().find(|c| c.is_control()) {
        return bad(format!("contains the control character U+{:04X}", c as u32));
    }
    if text.contains('"') {
        return bad("has a quoted local part, which servers read in different ways; it is not taken");
    }
    if text.ends_with(';') {
        return bad("is a group, not an address; name its members");
    }
    if text.contains(',') {
        return bad("one address is expected here, not a list");
    }
    if text.contains(['<', '>', '(', ')']) {
        return bad("only the address is expected here; the name goes into `name`");
    }
    let Some((local, domain)) = text.split_once('@') else {
        return bad("has no `@`");
    };
    if domain.contains('@') {
        return bad("has more than one `@`, so its domain could be read in two ways");
    }
    if !local.is_ascii() {
        return bad("has letters outside ASCII before the `@`, which many servers refuse; it is not taken");
    }
    let is_atext = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&b);
    if local.is_empty() || !local.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(is_atext)) {
        return bad("the part before the `@` is not letters, digits and signs with single dots between them");
    }
    if local.len() > LOCAL_MAX {
        return bad(format!("the part before the `@` is longer than {LOCAL_MAX} characters"));
    }
    let ascii = ascii_domain(domain)?;
    if local.len() + 1 + ascii.len() > ADDRESS_MAX {
        return bad(format!("is longer than {ADDRESS_MAX} characters"));
    }
    Ok(())
}

/// The domain in its `xn--` form and in lower case. Address literals (`[192.0.2.1]`) and numbers are refused.
pub fn ascii_domain(domain: &str) -> Result<String, BadAddress> {
    if domain.starts_with('[') {
        return bad("names a machine by its number; a domain is expected after the `@`");
    }
    // ASCII is checked by hand, because the strict IDNA profile also takes forms that DNS hosts never have.
    let ascii = if domain.is_ascii() {
        if domain.split('.').any(|l| l.len() >= 4 && l[..4].eq_ignore_ascii_case("xn--")) {
            let (_, valid) = idna::domain_to_unicode(domain);
            if valid.is_err() {
                return bad("the domain's `xn--` form does not stand for any letters");
            }
        }
        domain.to_ascii_lowercase()
    } else {
        idna::domain_to_ascii_strict(domain).map_err(|_| BadAddress("the domain is not a valid name".into()))?
    };
    let label_ok = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if ascii.len() > 253 || !ascii.split('.').all(label_ok) {
        return bad("the part after the `@` is not a domain");
    }
    if ascii.rsplit('.').next().is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit())) {
        return bad("the part after the `@` ends in a number, which no domain does");
    }
    Ok(ascii)
}

/// A text that becomes the value of a header: no line break, no NUL, no other control character but the tab.
pub(crate) fn header_value(field: &str, text: &str, max: usize) -> Result<(), FieldError> {
    at_most(field, text, max)?;
    match text.chars().find(|c| c.is_control() && *c != '\t') {
        Some('\r' | '\n') => Err(wrong(field, "contains a line break, which would start another header")),
        Some(c) => Err(wrong(field, format!("contains the control character U+{:04X}", c as u32))),
        None => Ok(()),
    }
}

/// A message id as we write it: `<left@right>`, printable ASCII, at most [`MESSAGE_ID_MAX`] bytes.
pub fn is_message_id(text: &str) -> bool {
    let inner = text.strip_prefix('<').and_then(|t| t.strip_suffix('>'));
    let well_formed = |inner: &str| {
        inner.bytes().all(|b| (0x21..=0x7e).contains(&b) && b != b'<' && b != b'>')
            && inner.split_once('@').is_some_and(|(l, r)| !l.is_empty() && !r.is_empty() && !r.contains('@'))
    };
    text.len() <= MESSAGE_ID_MAX && inner.is_some_and(well_formed)
}

pub(crate) fn message_id(field: &str, text: &str) -> Result<(), FieldError> {
    if text.contains(['\r', '\n', '\0']) {
        return Err(wrong(field, "contains a line break, which would start another header"));
    }
    if is_message_id(text) {
        return Ok(());
    }
    Err(wrong(field, format!("is not one message id of the form <left@right>, at most {MESSAGE_ID_MAX} bytes")))
}

/// The well-formed message ids in a header value as it came, folded or not (F22): never a copy of its raw bytes.
pub fn message_ids(raw: &str) -> Vec<String> {
    let unfolded: String = raw.chars().filter(|c| *c != '\r' && *c != '\n').collect();
    let mut ids = Vec::new();
    let mut rest = unfolded.as_str();
    while let Some(close) = rest.find('>') {
        // From the last `<` before it, so that a stray one in front is not taken along.
        if let Some(open) = rest[..close].rfind('<') {
            let id = &rest[open..=close];
            if is_message_id(id) {
                ids.push(id.to_owned());
            }
        }
        rest = &rest[close + 1..];
    }
    ids
}

/// Message ids of a document's list, strict.
pub(crate) fn message_id_list(fields: &Fields<'_>, name: &str) -> Result<Vec<String>, FieldError> {
    let mut ids = Vec::new();
    for (i, value) in fields.list(name)?.iter().enumerate() {
        let path = item(name, i);
        let text = value.as_str().ok_or_else(|| expected(&path, "a string", value))?;
        message_id(&path, text)?;
        ids.push(text.to_owned());
    }
    Ok(ids)
}
