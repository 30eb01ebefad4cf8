//! What each IMAP command does.

use super::parse::{Bad, Cursor};
use super::search::{Bounds, fits};
use super::{End, Next, Selected, Session, fetch};
use crate::date::imap_seconds;
use crate::faults::ImapStage;
use crate::line::{Gone, Line};
use crate::signals::Point;
use crate::world::{Folder, folder_name};

const NO_FOLDER: End = End::No("[NONEXISTENT] no such folder");

impl Session {
    pub(super) async fn command(&mut self, tag: &str, name: &str, mut cursor: Cursor<'_>) -> Result<End, Gone> {
        match name {
            "CAPABILITY" => {
                let line = format!("* CAPABILITY {}\r\n", self.capabilities());
                self.wire.write(line.as_bytes()).await?;
                return Ok(End::Ok("done".to_owned()));
            }
            "NOOP" | "CHECK" => {
                self.sync().await?;
                return Ok(End::Ok("done".to_owned()));
            }
            "ID" => {
                self.wire.write(b"* ID (\"name\" \"Countersign sandbox\")\r\n").await?;
                return Ok(End::Ok("done".to_owned()));
            }
            "LOGIN" | "AUTHENTICATE" if self.login.is_some() => return Ok(End::Bad("already logged in")),
            "LOGIN" => {
                let given = login_arguments(&mut cursor);
                return match given {
                    Ok((user, password)) => self.log_in(tag, &user, &password).await,
                    Err(bad) => Ok(End::Bad(bad)),
                };
            }
            "AUTHENTICATE" => return self.authenticate(tag, cursor).await,
            _ => {}
        }
        let Some(login) = self.login.clone() else { return Ok(End::Bad("log in first")) };
        match name {
            "ENABLE" => {
                self.wire.write(b"* ENABLED\r\n").await?;
                Ok(End::Ok("done".to_owned()))
            }
            "LIST" => self.list(tag, &login, cursor).await,
            "STATUS" => self.status(tag, &login, cursor).await,
            "SELECT" | "EXAMINE" => self.select(tag, &login, name == "EXAMINE", cursor).await,
            "CREATE" => Ok(self.create(&login, &mut cursor)),
            "SUBSCRIBE" | "UNSUBSCRIBE" => Ok(End::Ok("done".to_owned())),
            "APPEND" => self.append(tag, &login, cursor).await,
            "CLOSE" | "UNSELECT" => {
                let had = self.selected.take().is_some();
                Ok(if had { End::Ok("closed".to_owned()) } else { End::Bad("no folder is selected") })
            }
            "IDLE" if self.features.idle => self.idle().await,
            "SEARCH" | "UID SEARCH" => self.search(tag, &login, name == "UID SEARCH", cursor).await,
            "FETCH" | "UID FETCH" => self.fetch(tag, &login, name == "UID FETCH", cursor).await,
            _ => Ok(End::Bad("command not supported by the sandbox")),
        }
    }

    async fn log_in(&mut self, tag: &str, user: &str, password: &str) -> Result<End, Gone> {
        let login = self.world.login(user, password);
        self.logged_in(tag, login).await
    }

    async fn logged_in(&mut self, tag: &str, login: Option<String>) -> Result<End, Gone> {
        if self.fault(ImapStage::Login, "", tag).await? == Next::Said {
            return Ok(End::Said);
        }
        let Some(login) = login else {
            return Ok(End::No("[AUTHENTICATIONFAILED] wrong user name or password"));
        };
        self.login = Some(login);
        self.world.signals.reached(Point::ImapLogin);
        Ok(End::Ok(format!("[CAPABILITY {}] logged in", self.capabilities())))
    }

    async fn authenticate(&mut self, tag: &str, mut cursor: Cursor<'_>) -> Result<End, Gone> {
        let mechanism = if cursor.more() { cursor.atom().unwrap_or_default().to_uppercase() } else { String::new() };
        let by_token = matches!(mechanism.as_str(), "OAUTHBEARER" | "XOAUTH2") && self.world.tokens().is_some();
        if mechanism != "PLAIN" && !by_token {
            return Ok(End::No("mechanism not offered"));
        }
        let answer = if cursor.more() {
            cursor.atom().unwrap_or_default()
        } else {
            self.wire.write(b"+ \r\n").await?;
            match self.wire.line(super::LINE_LIMIT).await? {
                Line::Good(line) if line != b"*" => String::from_utf8_lossy(&line).into_owned(),
                _ => return Ok(End::Bad("authentication cancelled")),
            }
        };
        if by_token {
            let Some((user, token)) = crate::smtp::sasl_bearer(&answer) else {
                return Ok(End::Bad("cannot decode the answer"));
            };
            let login = self.world.login_by_token(&user, &token);
            if login.is_none() {
                self.wire.write(b"+ eyJzdGF0dXMiOiI0MDEiLCJzY2hlbWVzIjoiYmVhcmVyIn0=\r\n").await?;
                self.wire.line(super::LINE_LIMIT).await?;
            }
            return self.logged_in(tag, login).await;
        }
        match crate::smtp::sasl_plain(&answer) {
            Some((user, password)) => self.log_in(tag, &user, &password).await,
            None => Ok(End::Bad("cannot decode the answer")),
        }
    }

    fn create(&self, login: &str, cursor: &mut Cursor<'_>) -> End {
        match cursor.space().and_then(|()| cursor.astring()) {
            Ok(name) if self.world.create_folder(login, &name) => End::Ok("created".to_owned()),
            Ok(_) => End::No("[ALREADYEXISTS] folder exists"),
            Err(bad) => End::Bad(bad),
        }
    }

    async fn list(&mut self, tag: &str, login: &str, mut cursor: Cursor<'_>) -> Result<End, Gone> {
        let (only_special, pattern) = match list_arguments(&mut cursor) {
            Ok(arguments) => arguments,
            Err(bad) => return Ok(End::Bad(bad)),
        };
        if self.fault(ImapStage::List, "", tag).await? == Next::Said {
            return Ok(End::Said);
        }
        let mut out = String::new();
        if pattern.is_empty() {
            out.push_str("* LIST (\\Noselect) \"/\" \"\"\r\n");
        }
        if let Some(folders) = self.world.lock().mailboxes.get(login) {
            for (name, folder) in folders.iter().filter(|(name, _)| matches(&pattern, name)) {
                let special = folder.special_use.as_ref().filter(|_| self.features.special_use);
                if only_special && special.is_none() {
                    continue;
                }
                let attributes = special.map_or(String::new(), |special| format!(" {special}"));
                out.push_str(&format!("* LIST (\\HasNoChildren{attributes}) \"/\" {}\r\n", quoted(name)));
            }
        }
        self.wire.write(out.as_bytes()).await?;
        Ok(End::Ok("listed".to_owned()))
    }

    /// Looks at a folder under the lock.
    fn with_folder<T>(&self, login: &str, name: &str, look: impl FnOnce(&Folder) -> T) -> Option<T> {
        let inner = self.world.lock();
        inner.mailboxes.get(login).and_then(|folders| folders.get(folder_name(name))).map(look)
    }

    async fn status(&mut self, tag: &str, login: &str, mut cursor: Cursor<'_>) -> Result<End, Gone> {
        let (name, items) = match status_arguments(&mut cursor) {
            Ok(arguments) => arguments,
            Err(bad) => return Ok(End::Bad(bad)),
        };
        if self.fault(ImapStage::Select, &name, tag).await? == Next::Said {
            return Ok(End::Said);
        }
        let values = self.with_folder(login, &name, |folder| {
            let unseen =
                folder.messages.iter().filter(|stored| !stored.flags.iter().any(|flag| flag == "\\Seen")).count();
            let value = |item: &String| match item.to_uppercase().as_str() {
                "MESSAGES" => Some(folder.messages.len() as u64),
                "UIDNEXT" => Some(u64::from(folder.uid_next)),
                "UIDVALIDITY" => Some(u64::from(folder.uid_validity)),
                "UNSEEN" => Some(unseen as u64),
                "RECENT" => Some(0),
                "HIGHESTMODSEQ" if self.features.condstore => Some(folder.highest_modseq()),
                _ => None,
            };
            items.iter().map(|item| value(item).map(|value| format!("{item} {value}"))).collect::<Option<Vec<_>>>()
        });
        match values {
            None => Ok(NO_FOLDER),
            Some(None) => Ok(End::Bad("unknown status item")),
            Some(Some(values)) => {
                let line = format!("* STATUS {} ({})\r\n", quoted(&name), values.join(" "));
                self.wire.write(line.as_bytes()).await?;
                Ok(End::Ok("done".to_owned()))
            }
        }
    }

    async fn select(&mut self, tag: &str, login: &str, read_only: bool, mut cursor: Cursor<'_>) -> Result<End, Gone> {
        self.world.signals.reached(Point::Selected);
        let name = match cursor.space().and_then(|()| cursor.astring()) {
            Ok(name) => folder_name(&name).to_owned(),
            Err(bad) => return Ok(End::Bad(bad)),
        };
        // RFC 3501 6.3.1: a failed SELECT leaves nothing selected.
        self.selected = None;
        if self.fault(ImapStage::Select, &name, tag).await? == Next::Said {
            return Ok(End::Said);
        }
        let condstore = self.features.condstore;
        let found = self.with_folder(login, &name, |folder| {
            let uids: Vec<u32> = folder.messages.iter().map(|stored| stored.uid).collect();
            let mut text = format!(
                "* FLAGS (\\Answered \\Flagged \\Deleted \\Seen \\Draft)\r\n* OK [PERMANENTFLAGS ()] none\r\n\
                 * {} EXISTS\r\n* 0 RECENT\r\n* OK [UIDVALIDITY {}] valid\r\n* OK [UIDNEXT {}] next\r\n",
                uids.len(),
                folder.uid_validity,
                folder.uid_next
            );
            if condstore {
                text.push_str(&format!("* OK [HIGHESTMODSEQ {}] highest\r\n", folder.highest_modseq()));
            }
            (uids, text)
        });
        let Some((uids, text)) = found else { return Ok(NO_FOLDER) };
        self.wire.write(text.as_bytes()).await?;
        self.selected = Some(Selected { folder: name, read_only, uids });
        Ok(End::Ok(format!("[READ-{}] selected", if read_only { "ONLY" } else { "WRITE" })))
    }

    async fn append(&mut self, tag: &str, login: &str, mut cursor: Cursor<'_>) -> Result<End, Gone> {
        let (name, flags, date, bytes) = match append_arguments(&mut cursor) {
            Ok(arguments) => arguments,
            Err(bad) => return Ok(End::Bad(bad)),
        };
        self.world.signals.reached(Point::AppendReceived);
        let due = self.world.script.imap(ImapStage::Append, &name);
        let mut stored = None;
        let stores_first = due.as_ref().is_none_or(|due| due.taken);
        if stores_first {
            stored = self.world.append(login, &name, flags.clone(), date, &bytes);
        }
        if let Some(due) = due {
            if self.misbehave(due, tag).await? == Next::Said {
                return Ok(End::Said);
            }
            if !stores_first {
                stored = self.world.append(login, &name, flags, date, &bytes);
            }
        }
        self.sync().await?;
        Ok(match stored {
            None => End::No("[TRYCREATE] no such folder"),
            Some((validity, uid)) if self.features.uidplus => End::Ok(format!("[APPENDUID {validity} {uid}] appended")),
            Some(_) => End::Ok("appended".to_owned()),
        })
    }

    /// Tells the client what has changed in its folder since it last heard.
    async fn sync(&mut self) -> Result<(), Gone> {
        let (Some(login), Some(selected)) = (&self.login, &mut self.selected) else { return Ok(()) };
        let now: Vec<u32> = {
            let inner = self.world.lock();
            let folder = inner.mailboxes.get(login).and_then(|folders| folders.get(&selected.folder));
            folder.map_or(Vec::new(), |folder| folder.messages.iter().map(|stored| stored.uid).collect())
        };
        let mut out = String::new();
        for index in (0..selected.uids.len()).rev() {
            if !now.contains(&selected.uids[index]) {
                selected.uids.remove(index);
                out.push_str(&format!("* {} EXPUNGE\r\n", index + 1));
            }
        }
        if now.len() > selected.uids.len() {
            out.push_str(&format!("* {} EXISTS\r\n", now.len()));
        }
        selected.uids = now;
        self.wire.write(out.as_bytes()).await
    }

    async fn idle(&mut self) -> Result<End, Gone> {
        let mut changed = self.world.changed.subscribe();
        self.wire.write(b"+ idling\r\n").await?;
        self.world.signals.reached(Point::Idling);
        loop {
            self.sync().await?;
            tokio::select! {
                line = self.wire.line(super::LINE_LIMIT) => {
                    return Ok(match line? {
                        Line::Good(line) if line.eq_ignore_ascii_case(b"DONE") => End::Ok("done".to_owned()),
                        _ => End::Bad("expected DONE"),
                    });
                }
                moved = changed.changed() => {
                    if moved.is_err() {
                        return Err(Gone);
                    }
                }
            }
        }
    }

    async fn search(&mut self, tag: &str, login: &str, by_uid: bool, mut cursor: Cursor<'_>) -> Result<End, Gone> {
        self.world.signals.reached(Point::SearchReceived);
        let key = match search_arguments(&mut cursor) {
            Ok(key) => key,
            Err(SearchBad::Syntax(bad)) => return Ok(End::Bad(bad)),
            Err(SearchBad::Charset) => return Ok(End::No("[BADCHARSET (US-ASCII UTF-8)] charset not supported")),
        };
        let Some(folder) = self.selected.as_ref().map(|selected| selected.folder.clone()) else {
            return Ok(End::Bad("no folder is selected"));
        };
        if self.fault(ImapStage::Search, &folder, tag).await? == Next::Said {
            return Ok(End::Said);
        }
        self.sync().await?;
        let found = self.with_folder(login, &folder, |folder| {
            let bounds = Bounds {
                highest_sequence: folder.messages.len() as u32,
                highest_uid: folder.messages.last().map_or(0, |stored| stored.uid),
            };
            let hits =
                folder.messages.iter().zip(1u32..).filter(|(stored, sequence)| fits(&key, stored, *sequence, &bounds));
            hits.map(|(stored, sequence)| format!(" {}", if by_uid { stored.uid } else { sequence }))
                .collect::<String>()
        });
        let Some(found) = found else { return Ok(NO_FOLDER) };
        self.wire.write(format!("* SEARCH{found}\r\n").as_bytes()).await?;
        Ok(End::Ok("searched".to_owned()))
    }

    async fn fetch(&mut self, tag: &str, login: &str, by_uid: bool, mut cursor: Cursor<'_>) -> Result<End, Gone> {
        self.world.signals.reached(Point::FetchReceived);
        let parsed = cursor.space().and_then(|()| cursor.set()).and_then(|set| {
            cursor.space()?;
            let items = cursor.fetch_items()?;
            cursor.end()?;
            Ok((set, items))
        });
        let (set, mut items) = match parsed {
            Ok(parsed) => parsed,
            Err(bad) => return Ok(End::Bad(bad)),
        };
        let Some(selected) = &self.selected else { return Ok(End::Bad("no folder is selected")) };
        let (folder, writable) = (selected.folder.clone(), !selected.read_only);
        if self.fault(ImapStage::Fetch, &folder, tag).await? == Next::Said {
            return Ok(End::Said);
        }
        if by_uid && !items.contains(&super::parse::Item::Uid) {
            items.insert(0, super::parse::Item::Uid);
        }
        let uids = self.selected.as_ref().map_or(&[][..], |selected| &selected.uids);
        let highest = if by_uid { uids.last().copied().unwrap_or(0) } else { uids.len() as u32 };
        let wanted: Vec<(u32, u32)> = uids
            .iter()
            .zip(1u32..)
            .filter(|(uid, sequence)| set.holds(if by_uid { **uid } else { *sequence }, highest))
            .map(|(uid, sequence)| (sequence, *uid))
            .collect();
        if writable && fetch::marks_seen(&items) {
            let uids: Vec<u32> = wanted.iter().map(|(_, uid)| *uid).collect();
            self.world.mark_seen(login, &folder, &uids);
        }
        let out = self.with_folder(login, &folder, |folder| {
            let mut out = Vec::new();
            for (sequence, uid) in &wanted {
                if let Some(stored) = folder.messages.iter().find(|stored| stored.uid == *uid) {
                    out.extend(fetch::response(*sequence, stored, &items));
                }
            }
            out
        });
        self.wire.write(&out.unwrap_or_default()).await?;
        if by_uid {
            self.sync().await?;
        }
        Ok(End::Ok("fetched".to_owned()))
    }
}

fn login_arguments(cursor: &mut Cursor<'_>) -> Result<(String, String), Bad> {
    cursor.space()?;
    let user = cursor.astring()?;
    cursor.space()?;
    let password = cursor.astring()?;
    cursor.end()?;
    Ok((user, password))
}

/// Whether only special folders are wanted, and the pattern.
fn list_arguments(cursor: &mut Cursor<'_>) -> Result<(bool, String), Bad> {
    cursor.space()?;
    let mut only_special = false;
    if cursor.starts_list() {
        let options = cursor.list(Cursor::atom)?;
        only_special = options.iter().any(|option| option.eq_ignore_ascii_case("SPECIAL-USE"));
        cursor.space()?;
    }
    let reference = cursor.astring()?;
    cursor.space()?;
    let pattern = cursor.pattern()?;
    if cursor.more() {
        if !cursor.atom()?.eq_ignore_ascii_case("RETURN") {
            return Err("expected RETURN");
        }
        cursor.space()?;
        cursor.list(Cursor::atom)?;
    }
    cursor.end()?;
    Ok((only_special, format!("{reference}{pattern}")))
}

fn status_arguments(cursor: &mut Cursor<'_>) -> Result<(String, Vec<String>), Bad> {
    cursor.space()?;
    let name = cursor.astring()?;
    cursor.space()?;
    let items = cursor.list(Cursor::atom)?;
    cursor.end()?;
    Ok((name, items))
}

type Append = (String, Vec<String>, Option<i64>, Vec<u8>);

fn append_arguments(cursor: &mut Cursor<'_>) -> Result<Append, Bad> {
    cursor.space()?;
    let name = folder_name(&cursor.astring()?).to_owned();
    cursor.space()?;
    let mut flags = Vec::new();
    if cursor.starts_list() {
        flags = cursor.flags()?;
        cursor.space()?;
    }
    let mut date = None;
    if cursor.starts_quoted() {
        let text = String::from_utf8_lossy(&cursor.string()?).into_owned();
        date = Some(imap_seconds(&text).ok_or("bad date-time")?);
        cursor.space()?;
    }
    let bytes = cursor.string()?;
    cursor.end()?;
    Ok((name, flags, date, bytes))
}

enum SearchBad {
    Syntax(Bad),
    Charset,
}

impl From<Bad> for SearchBad {
    fn from(bad: Bad) -> SearchBad {
        SearchBad::Syntax(bad)
    }
}

fn search_arguments(cursor: &mut Cursor<'_>) -> Result<super::parse::Key, SearchBad> {
    cursor.space()?;
    if let Some(charset) = cursor.charset()? {
        if !charset.eq_ignore_ascii_case("UTF-8") && !charset.eq_ignore_ascii_case("US-ASCII") {
            return Err(SearchBad::Charset);
        }
        cursor.space()?;
    }
    Ok(cursor.search()?)
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

/// LIST's patterns: `*` stands for anything, `%` for anything within one level.
fn matches(pattern: &str, name: &str) -> bool {
    if pattern.eq_ignore_ascii_case(name) && name == "INBOX" {
        return true;
    }
    match pattern.chars().next() {
        None => name.is_empty(),
        Some(wildcard @ ('*' | '%')) => {
            let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            ends.take_while(|at| wildcard == '*' || !name[..*at].contains('/'))
                .any(|at| matches(&pattern[1..], &name[at..]))
        }
        Some(first) => name.strip_prefix(first).is_some_and(|rest| matches(&pattern[first.len_utf8()..], rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn folder_patterns_match_as_rfc_3501_says() {
        assert!(matches("*", "Sent") && matches("%", "Sent") && matches("S*t", "Sent") && matches("inbox", "INBOX"));
        assert!(matches("*", "Archive/2026") && !matches("%", "Archive/2026") && matches("Archive/%", "Archive/2026"));
        assert!(!matches("Sen", "Sent") && !matches("", "Sent") && !matches("sent", "Sent"));
    }
}
