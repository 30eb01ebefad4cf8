//! Reading IMAP commands: atoms, quoted strings, literals, sets, search keys and fetch items (RFC 3501 section 9).

use crate::date::imap_day;

/// What is wrong with a command; becomes the text of BAD.
pub(super) type Bad = &'static str;

/// A command's bytes with its literals in place, and how far it was read.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// A set of sequence numbers or UIDs; `None` stands for `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Set(Vec<(Option<u32>, Option<u32>)>);

impl Set {
    /// Whether the set holds the number, where `*` is `highest`. `n:*` always holds `*`, also when n is beyond it.
    pub(super) fn holds(&self, number: u32, highest: u32) -> bool {
        self.0.iter().any(|(from, to)| {
            let (from, to) = (from.unwrap_or(highest), to.unwrap_or(highest));
            (from.min(to)..=from.max(to)).contains(&number)
        })
    }
}

/// A search key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    All,
    Sequence(Set),
    Uid(Set),
    Header(String, String),
    Text(String),
    Body(String),
    Since(i64),
    Before(i64),
    On(i64),
    SentSince(i64),
    SentBefore(i64),
    SentOn(i64),
    Flag(String),
    Larger(usize),
    Smaller(usize),
    ModSeq(u64),
    Not(Box<Key>),
    Or(Box<Key>, Box<Key>),
    And(Vec<Key>),
}

/// Which part of a message BODY asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Whole,
    Header,
    Text,
    Fields { names: Vec<String>, except: bool },
}

/// A fetch item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Flags,
    Uid,
    InternalDate,
    Size,
    Envelope,
    ModSeq,
    /// `label` is what the answer calls it.
    Body {
        section: Section,
        peek: bool,
        partial: Option<(usize, usize)>,
        label: String,
    },
}

fn is_atom(byte: u8) -> bool {
    byte > b' ' && byte < 0x7f && !b"(){%*\"\\]".contains(&byte)
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(super) fn end(&self) -> Result<(), Bad> {
        if self.at_end() { Ok(()) } else { Err("unexpected argument") }
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    pub(super) fn expect(&mut self, byte: u8, bad: Bad) -> Result<(), Bad> {
        if self.take(byte) { Ok(()) } else { Err(bad) }
    }

    pub(super) fn space(&mut self) -> Result<(), Bad> {
        self.expect(b' ', "missing space")
    }

    /// A space and more to come?
    pub(super) fn more(&mut self) -> bool {
        self.take(b' ')
    }

    fn run(&mut self, belongs: impl Fn(u8) -> bool) -> Result<String, Bad> {
        let start = self.at;
        while self.peek().is_some_and(&belongs) {
            self.at += 1;
        }
        let text = String::from_utf8_lossy(&self.bytes[start..self.at]).into_owned();
        if text.is_empty() { Err("missing argument") } else { Ok(text) }
    }

    pub(super) fn atom(&mut self) -> Result<String, Bad> {
        self.run(is_atom)
    }

    /// A flag: an atom, perhaps with a backslash before it.
    fn flag(&mut self) -> Result<String, Bad> {
        let system = if self.take(b'\\') { "\\" } else { "" };
        Ok(format!("{system}{}", self.atom()?))
    }

    pub(super) fn number(&mut self) -> Result<usize, Bad> {
        self.run(|byte| byte.is_ascii_digit())?.parse().map_err(|_| "number too big")
    }

    /// A quoted string or literal, as bytes.
    pub(super) fn string(&mut self) -> Result<Vec<u8>, Bad> {
        if self.take(b'"') {
            let mut out = Vec::new();
            loop {
                match self.peek().ok_or("unfinished quoted string")? {
                    b'"' => break,
                    b'\\' => {
                        self.at += 1;
                        let escaped = self.peek().filter(|byte| b"\"\\".contains(byte)).ok_or("bad escape")?;
                        out.push(escaped);
                    }
                    b'\r' | b'\n' => return Err("line end in quoted string"),
                    byte => out.push(byte),
                }
                self.at += 1;
            }
            self.at += 1;
            return Ok(out);
        }
        self.expect(b'{', "missing string")?;
        let size = self.number()?;
        self.take(b'+');
        for byte in *b"}\r\n" {
            self.expect(byte, "bad literal")?;
        }
        let end = self.at.checked_add(size).filter(|end| *end <= self.bytes.len()).ok_or("short literal")?;
        let out = self.bytes[self.at..end].to_vec();
        self.at = end;
        Ok(out)
    }

    /// An atom, quoted string or literal, as text.
    pub(super) fn astring(&mut self) -> Result<String, Bad> {
        match self.peek() {
            Some(b'"' | b'{') => String::from_utf8(self.string()?).map_err(|_| "not UTF-8"),
            _ => self.run(|byte| is_atom(byte) || byte == b']'),
        }
    }

    /// A folder pattern of LIST, where `%` and `*` are allowed.
    pub(super) fn pattern(&mut self) -> Result<String, Bad> {
        match self.peek() {
            Some(b'"' | b'{') => self.astring(),
            _ => self.run(|byte| is_atom(byte) || b"%*]".contains(&byte)),
        }
    }

    /// `(a b c)` of whatever `item` reads.
    pub(super) fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T, Bad>) -> Result<Vec<T>, Bad> {
        self.expect(b'(', "missing list")?;
        let mut items = Vec::new();
        while !self.take(b')') {
            if !items.is_empty() {
                self.space()?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    pub(super) fn flags(&mut self) -> Result<Vec<String>, Bad> {
        self.list(Cursor::flag)
    }

    pub(super) fn starts_list(&self) -> bool {
        self.peek() == Some(b'(')
    }

    pub(super) fn starts_quoted(&self) -> bool {
        self.peek() == Some(b'"')
    }

    pub(super) fn set(&mut self) -> Result<Set, Bad> {
        let text = self.run(|byte| byte.is_ascii_digit() || b",:*".contains(&byte))?;
        let number = |text: &str| match text {
            "*" => Ok(None),
            digits => match digits.parse::<u32>() {
                Ok(0) | Err(_) => Err("bad sequence set"),
                Ok(number) => Ok(Some(number)),
            },
        };
        let range = |part: &str| match part.split_once(':') {
            Some((from, to)) => Ok((number(from)?, number(to)?)),
            None => number(part).map(|single| (single, single)),
        };
        text.split(',').map(range).collect::<Result<_, Bad>>().map(Set)
    }

    /// All keys up to the end of the command.
    pub(super) fn search(&mut self) -> Result<Key, Bad> {
        let mut keys = vec![self.key()?];
        while self.more() {
            keys.push(self.key()?);
        }
        self.end()?;
        Ok(Key::And(keys))
    }

    /// `CHARSET name` at the head of a search, when it is there.
    pub(super) fn charset(&mut self) -> Result<Option<String>, Bad> {
        let start = self.at;
        match self.atom() {
            Ok(word) if word.eq_ignore_ascii_case("CHARSET") => {
                self.space()?;
                self.astring().map(Some)
            }
            _ => {
                self.at = start;
                Ok(None)
            }
        }
    }

    fn argument(&mut self) -> Result<String, Bad> {
        self.space()?;
        self.astring()
    }

    fn day(&mut self) -> Result<i64, Bad> {
        imap_day(&self.argument()?).ok_or("bad date")
    }

    fn key(&mut self) -> Result<Key, Bad> {
        if self.starts_list() {
            return Ok(Key::And(self.list(Cursor::key)?));
        }
        if self.peek().is_some_and(|byte| byte.is_ascii_digit() || byte == b'*') {
            return Ok(Key::Sequence(self.set()?));
        }
        let name = self.atom()?.to_uppercase();
        Ok(match name.as_str() {
            "ALL" => Key::All,
            "UID" => {
                self.space()?;
                Key::Uid(self.set()?)
            }
            "HEADER" => Key::Header(self.argument()?, self.argument()?),
            "FROM" | "TO" | "CC" | "BCC" | "SUBJECT" => Key::Header(name, self.argument()?),
            "TEXT" => Key::Text(self.argument()?),
            "BODY" => Key::Body(self.argument()?),
            "SINCE" => Key::Since(self.day()?),
            "BEFORE" => Key::Before(self.day()?),
            "ON" => Key::On(self.day()?),
            "SENTSINCE" => Key::SentSince(self.day()?),
            "SENTBEFORE" => Key::SentBefore(self.day()?),
            "SENTON" => Key::SentOn(self.day()?),
            "LARGER" => {
                self.space()?;
                Key::Larger(self.number()?)
            }
            "SMALLER" => {
                self.space()?;
                Key::Smaller(self.number()?)
            }
            "MODSEQ" => {
                self.space()?;
                Key::ModSeq(self.number()? as u64)
            }
            "NOT" => {
                self.space()?;
                Key::Not(Box::new(self.key()?))
            }
            "OR" => {
                self.space()?;
                let left = self.key()?;
                self.space()?;
                Key::Or(Box::new(left), Box::new(self.key()?))
            }
            "ANSWERED" | "DELETED" | "DRAFT" | "FLAGGED" | "SEEN" => Key::Flag(format!("\\{name}")),
            "UNANSWERED" | "UNDELETED" | "UNDRAFT" | "UNFLAGGED" | "UNSEEN" => {
                Key::Not(Box::new(Key::Flag(format!("\\{}", &name[2..]))))
            }
            "KEYWORD" => Key::Flag(self.argument()?),
            "UNKEYWORD" => Key::Not(Box::new(Key::Flag(self.argument()?))),
            _ => return Err("unknown search key"),
        })
    }

    /// One item, a list of items or a macro.
    pub(super) fn fetch_items(&mut self) -> Result<Vec<Item>, Bad> {
        if self.starts_list() {
            return self.list(Cursor::fetch_item);
        }
        let start = self.at;
        match self.run(|byte| byte.is_ascii_alphabetic())?.to_uppercase().as_str() {
            "FAST" if self.at_end() => Ok(vec![Item::Flags, Item::InternalDate, Item::Size]),
            "ALL" if self.at_end() => Ok(vec![Item::Flags, Item::InternalDate, Item::Size, Item::Envelope]),
            _ => {
                self.at = start;
                Ok(vec![self.fetch_item()?])
            }
        }
    }

    fn fetch_item(&mut self) -> Result<Item, Bad> {
        let name = self.run(|byte| byte.is_ascii_alphanumeric() || byte == b'.')?.to_uppercase();
        let body = |section, peek, label: &str| Item::Body { section, peek, partial: None, label: label.to_owned() };
        Ok(match name.as_str() {
            "FLAGS" => Item::Flags,
            "UID" => Item::Uid,
            "INTERNALDATE" => Item::InternalDate,
            "RFC822.SIZE" => Item::Size,
            "ENVELOPE" => Item::Envelope,
            "MODSEQ" => Item::ModSeq,
            "RFC822" => body(Section::Whole, false, "RFC822"),
            "RFC822.HEADER" => body(Section::Header, true, "RFC822.HEADER"),
            "RFC822.TEXT" => body(Section::Text, false, "RFC822.TEXT"),
            "BODY" | "BODY.PEEK" if self.peek() == Some(b'[') => return self.body_item(name == "BODY.PEEK"),
            _ => return Err("unknown fetch item"),
        })
    }

    fn body_item(&mut self, peek: bool) -> Result<Item, Bad> {
        self.expect(b'[', "missing section")?;
        let name = self.run(|byte| byte.is_ascii_alphanumeric() || byte == b'.').unwrap_or_default().to_uppercase();
        let (section, inside) = match name.as_str() {
            "" => (Section::Whole, String::new()),
            "HEADER" => (Section::Header, name),
            "TEXT" => (Section::Text, name),
            "HEADER.FIELDS" | "HEADER.FIELDS.NOT" => {
                self.space()?;
                let names = self.list(Cursor::astring)?;
                let inside = format!("{name} ({})", names.join(" "));
                (Section::Fields { names, except: name.ends_with("NOT") }, inside)
            }
            _ => return Err("this sandbox serves no single MIME parts"),
        };
        self.expect(b']', "missing ]")?;
        let mut label = format!("BODY[{inside}]");
        let mut partial = None;
        if self.take(b'<') {
            let from = self.number()?;
            self.expect(b'.', "bad partial")?;
            partial = Some((from, self.number()?));
            self.expect(b'>', "bad partial")?;
            label.push_str(&format!("<{from}>"));
        }
        Ok(Item::Body { section, peek, partial, label })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_quoted_or_as_literals() {
        let mut cursor = Cursor::new(b"\"a \\\"b\\\\\" {3}\r\nx\r\n {2+}\r\nyz atom");
        assert_eq!(cursor.string(), Ok(b"a \"b\\".to_vec()));
        assert_eq!(cursor.space().and_then(|()| cursor.string()), Ok(b"x\r\n".to_vec()));
        assert_eq!(cursor.space().and_then(|()| cursor.astring()), Ok("yz".to_owned()));
        assert_eq!(cursor.space().and_then(|()| cursor.astring()), Ok("atom".to_owned()));
        assert_eq!(cursor.end(), Ok(()));
        assert!(Cursor::new(b"\"open").string().is_err());
        assert!(Cursor::new(b"{9}\r\nshort").string().is_err());
        assert!(Cursor::new(b"\"a\\x\"").string().is_err());
    }

    #[test]
    fn sets_hold_the_star_even_beyond_the_end() {
        let set = Cursor::new(b"2,4:5,9:*").set();
        let holds: Vec<u32> = (1..=7).filter(|n| set.as_ref().is_ok_and(|set| set.holds(*n, 7))).collect();
        assert_eq!(holds, [2, 4, 5, 7]);
        assert!(Cursor::new(b"0").set().is_err());
        assert!(Cursor::new(b"1,,2").set().is_err());
    }

    #[test]
    fn search_keys_nest() {
        let key =
            Cursor::new(b"UID 5:* (OR FROM \"a b\" NOT SEEN) HEADER Message-ID {5}\r\n<x@y> SINCE 1-Jan-1970").search();
        let five = Set(vec![(Some(5), None)]);
        let seen = Key::Not(Box::new(Key::Flag("\\SEEN".to_owned())));
        let expected = Key::And(vec![
            Key::Uid(five),
            Key::And(vec![Key::Or(Box::new(Key::Header("FROM".to_owned(), "a b".to_owned())), Box::new(seen))]),
            Key::Header("Message-ID".to_owned(), "<x@y>".to_owned()),
            Key::Since(0),
        ]);
        assert_eq!(key, Ok(expected));
        assert!(Cursor::new(b"FROM").search().is_err());
        assert!(Cursor::new(b"ALL ALL)").search().is_err());
    }

    #[test]
    fn fetch_items_keep_the_label_of_their_answer() {
        let items = Cursor::new(b"(UID BODY.PEEK[HEADER.FIELDS (Subject \"Message-ID\")] BODY[]<0.10>)").fetch_items();
        let fields = Section::Fields { names: vec!["Subject".to_owned(), "Message-ID".to_owned()], except: false };
        let label = "BODY[HEADER.FIELDS (Subject Message-ID)]".to_owned();
        let expected = vec![
            Item::Uid,
            Item::Body { section: fields, peek: true, partial: None, label },
            Item::Body { section: Section::Whole, peek: false, partial: Some((0, 10)), label: "BODY[]<0>".to_owned() },
        ];
        assert_eq!(items, Ok(expected));
        assert_eq!(Cursor::new(b"FAST").fetch_items().map(|items| items.len()), Ok(3));
        assert!(Cursor::new(b"BODY.PEEK[1.2]").fetch_items().is_err());
    }
}
