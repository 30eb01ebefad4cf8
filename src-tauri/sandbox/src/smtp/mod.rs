//! The SMTP submission server: strict about lines, exact about bytes, and as bad as the script wants.

mod body;
mod parse;

use std::sync::Arc;

use tokio::net::TcpStream;

use crate::config::SmtpFeatures;
use crate::faults::{Due, Misbehaviour, SmtpStage};
use crate::line::{Gone, Line, Wire};
use crate::signals::Point;
use crate::world::{Envelope, Protocol, World};
use parse::{Refusal, base64_text, check_address, path, xtext};
pub(crate) use parse::{sasl_bearer, sasl_plain};

/// RFC 5321 4.5.3.1.4 asks for 512; extensions add to it, AUTH needs 12288 (RFC 4954).
const COMMAND_LIMIT: usize = 12_288;
const BAD_SEQUENCE: Refusal = (503, "5.5.1", "bad sequence of commands");
const BAD_SYNTAX: Refusal = (501, "5.5.4", "syntax error in parameters");

/// Serves one connection until either side ends it.
pub(crate) async fn serve(stream: TcpStream, world: Arc<World>) {
    let connection = world.connected(Protocol::Smtp);
    let features = world.lock().smtp.clone();
    let mut session = Session {
        wire: Wire::new(stream),
        world,
        connection,
        features,
        greeted: false,
        login: None,
        envelope: None,
        chunks: None,
        out_of_turn: false,
    };
    let Gone = session.run().await;
    session.world.signals.reached(Point::Disconnected);
}

struct Session {
    wire: Wire,
    world: Arc<World>,
    connection: u64,
    features: SmtpFeatures,
    greeted: bool,
    login: Option<String>,
    envelope: Option<Envelope>,
    /// What BDAT has brought so far.
    chunks: Option<Vec<u8>>,
    /// The script made us speak when it was not our turn; from then on the client cannot keep in step.
    out_of_turn: bool,
}

impl Session {
    async fn run(&mut self) -> Gone {
        match self.dialogue().await {
            Ok(()) => self.wire.close().await,
            Err(gone) => gone,
        }
    }

    /// Ok when the session has come to its ordinary end.
    async fn dialogue(&mut self) -> Result<(), Gone> {
        let code =
            self.answer(&SmtpStage::Connect, &[], (220, "", "sandbox.example ESMTP Countersign sandbox")).await?;
        if code != 220 {
            return Ok(());
        }
        loop {
            let line = match self.wire.line(COMMAND_LIMIT).await? {
                Line::Good(line) => String::from_utf8_lossy(&line).into_owned(),
                Line::Bad(why) => {
                    self.say((500, "5.5.2", why)).await?;
                    continue;
                }
            };
            let (verb, rest) = line.split_once(' ').unwrap_or((&line, ""));
            let verb = verb.to_uppercase();
            let shown = if verb == "AUTH" {
                format!("AUTH {} …", rest.split(' ').next().unwrap_or(""))
            } else {
                line.clone()
            };
            self.world.said(Protocol::Smtp, self.connection, shown);
            if verb != "BDAT" && self.out_of_step() {
                self.say((503, "5.5.0", "command sent before the answer to the last one")).await?;
                return Ok(());
            }
            match verb.as_str() {
                "EHLO" | "HELO" => self.hello(&verb, rest).await?,
                "AUTH" => self.auth(rest).await?,
                "MAIL" => self.mail(rest).await?,
                "RCPT" => self.rcpt(rest).await?,
                "DATA" => self.data(rest).await?,
                "BDAT" => self.bdat(rest).await?,
                "RSET" => {
                    self.forget();
                    self.say((250, "2.0.0", "reset")).await?;
                }
                "NOOP" => self.say((250, "2.0.0", "ok")).await?,
                "VRFY" => self.say((252, "2.5.2", "try and see")).await?,
                "QUIT" => {
                    self.world.signals.reached(Point::Quit);
                    self.say((221, "2.0.0", "bye")).await?;
                    return Ok(());
                }
                _ => self.say((502, "5.5.1", "command not implemented")).await?,
            }
        }
    }

    /// Whether the client did not wait for an answer although PIPELINING is not offered.
    fn out_of_step(&self) -> bool {
        !self.features.pipelining && !self.out_of_turn && self.wire.has_unread()
    }

    fn forget(&mut self) {
        self.envelope = None;
        self.chunks = None;
    }

    fn text_of(&self, (code, enhanced, text): Refusal) -> String {
        if enhanced.is_empty() || !self.features.enhanced_status_codes {
            format!("{code} {text}\r\n")
        } else {
            format!("{code} {enhanced} {text}\r\n")
        }
    }

    async fn say(&mut self, reply: Refusal) -> Result<(), Gone> {
        let text = self.text_of(reply);
        self.wire.write(text.as_bytes()).await
    }

    fn fault(&self, stage: &SmtpStage, who: &[&str]) -> Option<Due> {
        let due = self.world.script.smtp(stage, who);
        if due.is_some() {
            self.world.signals.reached(Point::Misbehaved);
        }
        due
    }

    /// The ordinary reply, or what the script has for this stage. Returns the code that went out (0 for bytes that are
    /// no reply of ours).
    async fn answer(&mut self, stage: &SmtpStage, who: &[&str], normal: Refusal) -> Result<u16, Gone> {
        match self.fault(stage, who) {
            Some(due) => {
                let normal_text = self.text_of(normal);
                self.misbehave(due.answer, normal.0, &normal_text).await
            }
            None => self.say(normal).await.map(|()| normal.0),
        }
    }

    async fn misbehave(&mut self, answer: Misbehaviour, normal_code: u16, normal: &str) -> Result<u16, Gone> {
        match self.world.after_release(answer).await {
            Misbehaviour::Normal | Misbehaviour::Held { .. } => {
                self.wire.write(normal.as_bytes()).await.map(|()| normal_code)
            }
            Misbehaviour::Reply { code, text } => {
                self.wire.write(format!("{code} {text}\r\n").as_bytes()).await?;
                if code == 421 { Err(self.wire.close().await) } else { Ok(code) }
            }
            Misbehaviour::Raw { text } => self.wire.write(text.as_bytes()).await.map(|()| 0),
            Misbehaviour::No { text } => self.wire.write(format!("NO {text}\r\n").as_bytes()).await.map(|()| 0),
            Misbehaviour::Silence => Err(self.wire.drain().await),
            Misbehaviour::Reset => Err(self.wire.reset()),
            Misbehaviour::Close => Err(self.wire.close().await),
        }
    }

    async fn hello(&mut self, verb: &str, name: &str) -> Result<(), Gone> {
        self.world.signals.reached(Point::Greeted);
        if name.trim().is_empty() {
            return self.say(BAD_SYNTAX).await;
        }
        self.forget();
        self.greeted = true;
        let text = if verb == "HELO" { "250 sandbox.example\r\n".to_owned() } else { self.keywords() };
        match self.fault(&SmtpStage::Ehlo, &[]) {
            Some(due) => {
                let code = self.misbehave(due.answer, 250, &text).await?;
                self.greeted = code == 250;
                Ok(())
            }
            None => self.wire.write(text.as_bytes()).await,
        }
    }

    fn keywords(&self) -> String {
        let features = &self.features;
        let mut lines = vec!["sandbox.example".to_owned()];
        let mut offer = |offered: bool, keyword: &str| {
            if offered {
                lines.push(keyword.to_owned());
            }
        };
        offer(features.pipelining, "PIPELINING");
        if let Some(size) = features.size {
            offer(true, &format!("SIZE {size}"));
        }
        let tokens = self.world.tokens().is_some();
        let logins = [
            ("PLAIN", features.auth_plain),
            ("LOGIN", features.auth_login),
            ("OAUTHBEARER", tokens),
            ("XOAUTH2", tokens),
        ];
        let logins: Vec<&str> = logins.iter().filter(|(_, offered)| *offered).map(|(name, _)| *name).collect();
        offer(!logins.is_empty(), &format!("AUTH {}", logins.join(" ")));
        offer(features.enhanced_status_codes, "ENHANCEDSTATUSCODES");
        offer(features.eight_bit_mime, "8BITMIME");
        offer(features.dsn, "DSN");
        offer(features.smtputf8, "SMTPUTF8");
        offer(features.chunking, "CHUNKING");
        let last = lines.len() - 1;
        let line = |(index, text): (usize, &String)| format!("250{}{text}\r\n", if index == last { ' ' } else { '-' });
        lines.iter().enumerate().map(line).collect()
    }

    async fn auth(&mut self, rest: &str) -> Result<(), Gone> {
        if !self.greeted || self.login.is_some() || self.envelope.is_some() {
            return self.say(BAD_SEQUENCE).await;
        }
        let (mechanism, initial) = rest.split_once(' ').map_or((rest, None), |(name, initial)| (name, Some(initial)));
        let given = match mechanism.to_uppercase().as_str() {
            "PLAIN" if self.features.auth_plain => {
                let text = match initial {
                    Some(initial) => initial.to_owned(),
                    None => match self.ask("").await? {
                        Some(text) => text,
                        None => return self.say((501, "5.7.0", "authentication cancelled")).await,
                    },
                };
                sasl_plain(&text)
            }
            "LOGIN" if self.features.auth_login => {
                let user = match initial {
                    Some(initial) => Some(initial.to_owned()),
                    None => self.ask("VXNlcm5hbWU6").await?,
                };
                let Some(user) = user else { return self.say((501, "5.7.0", "authentication cancelled")).await };
                let Some(password) = self.ask("UGFzc3dvcmQ6").await? else {
                    return self.say((501, "5.7.0", "authentication cancelled")).await;
                };
                base64_text(&user).zip(base64_text(&password))
            }
            "OAUTHBEARER" | "XOAUTH2" if self.world.tokens().is_some() => return self.auth_by_token(initial).await,
            _ => return self.say((504, "5.5.4", "mechanism not offered")).await,
        };
        let Some((user, password)) = given else { return self.say((501, "5.5.2", "cannot decode the answer")).await };
        let login = self.world.login(&user, &password);
        let normal = if login.is_some() {
            (235, "2.7.0", "authentication successful")
        } else {
            (535, "5.7.8", "authentication credentials invalid")
        };
        if self.answer(&SmtpStage::Auth, &[&user], normal).await? == 235 {
            self.login = login;
            self.world.signals.reached(Point::Authenticated);
        }
        Ok(())
    }

    async fn auth_by_token(&mut self, initial: Option<&str>) -> Result<(), Gone> {
        let text = match initial {
            Some(initial) => Some(initial.to_owned()),
            None => self.ask("").await?,
        };
        let Some((user, token)) = text.as_deref().and_then(sasl_bearer) else {
            return self.say((501, "5.5.2", "cannot decode the answer")).await;
        };
        let login = self.world.login_by_token(&user, &token);
        if login.is_none() {
            // `{"status":"401","schemes":"bearer"}`: the client hears it, and then gets its no (RFC 7628, 3.2.3).
            self.ask("eyJzdGF0dXMiOiI0MDEiLCJzY2hlbWVzIjoiYmVhcmVyIn0=").await?;
        }
        let normal = match login {
            Some(_) => (235, "2.7.0", "authentication successful"),
            None => (535, "5.7.8", "authentication credentials invalid"),
        };
        if self.answer(&SmtpStage::Auth, &[&user], normal).await? == 235 {
            self.login = login;
            self.world.signals.reached(Point::Authenticated);
        }
        Ok(())
    }

    /// One step of a SASL exchange. `None` when the client cancels with `*`.
    async fn ask(&mut self, challenge: &str) -> Result<Option<String>, Gone> {
        self.wire.write(format!("334 {challenge}\r\n").as_bytes()).await?;
        match self.wire.line(COMMAND_LIMIT).await? {
            Line::Good(line) if line != b"*" => Ok(Some(String::from_utf8_lossy(&line).into_owned())),
            _ => Ok(None),
        }
    }

    async fn mail(&mut self, rest: &str) -> Result<(), Gone> {
        self.world.signals.reached(Point::Mail);
        let envelope = match self.read_mail(rest) {
            Ok(envelope) => envelope,
            Err(refusal) => return self.say(refusal).await,
        };
        let from = envelope.mail_from.clone();
        if self.answer(&SmtpStage::Mail, &[&from], (250, "2.1.0", "sender ok")).await? / 100 == 2 {
            self.envelope = Some(envelope);
        }
        Ok(())
    }

    fn read_mail(&self, rest: &str) -> Result<Envelope, Refusal> {
        if !self.greeted || self.envelope.is_some() {
            return Err(BAD_SEQUENCE);
        }
        let login = self.login.clone().ok_or((530, "5.7.0", "authentication required"))?;
        let path = path(rest, "FROM:")?;
        let mut envelope = Envelope { login, ..Envelope::default() };
        for (key, value) in &path.parameters {
            match (key.as_str(), value.as_deref()) {
                ("SIZE", Some(size)) if self.features.size.is_some() => {
                    let size: u64 = size.parse().map_err(|_| BAD_SYNTAX)?;
                    if self.features.size.is_some_and(|limit| size > limit) {
                        return Err((552, "5.3.4", "message too big"));
                    }
                }
                ("BODY", Some(body)) if self.features.eight_bit_mime => match body.to_uppercase().as_str() {
                    "8BITMIME" => envelope.eight_bit = true,
                    "7BIT" => {}
                    _ => return Err(BAD_SYNTAX),
                },
                ("SMTPUTF8", None) if self.features.smtputf8 => envelope.smtputf8 = true,
                ("RET", Some(ret)) if self.features.dsn && matches!(ret.to_uppercase().as_str(), "FULL" | "HDRS") => {
                    envelope.ret = Some(ret.to_owned());
                }
                ("ENVID", Some(envid)) if self.features.dsn && envid.len() <= 100 => {
                    envelope.envid = Some(xtext(envid).ok_or(BAD_SYNTAX)?);
                }
                _ => return Err((555, "5.5.4", "parameter not offered or wrong")),
            }
        }
        if !path.address.is_empty() {
            check_address(&path.address, envelope.smtputf8)?;
        }
        envelope.mail_from = path.address;
        Ok(envelope)
    }

    async fn rcpt(&mut self, rest: &str) -> Result<(), Gone> {
        self.world.signals.reached(Point::Rcpt);
        let (address, notify, orcpt) = match self.read_rcpt(rest) {
            Ok(recipient) => recipient,
            Err(refusal) => return self.say(refusal).await,
        };
        let code = self.answer(&SmtpStage::Rcpt, &[&address], (250, "2.1.5", "recipient ok")).await?;
        if let (2, Some(envelope)) = (code / 100, &mut self.envelope) {
            envelope.rcpt_to.push(address);
            envelope.notify.push(notify);
            envelope.orcpt.push(orcpt);
        }
        Ok(())
    }

    fn read_rcpt(&self, rest: &str) -> Result<(String, Option<String>, Option<String>), Refusal> {
        let envelope = self.envelope.as_ref().filter(|_| self.chunks.is_none()).ok_or(BAD_SEQUENCE)?;
        let path = path(rest, "TO:")?;
        let (mut notify, mut orcpt) = (None, None);
        for (key, value) in &path.parameters {
            match (key.as_str(), value.as_deref()) {
                ("NOTIFY", Some(value)) if self.features.dsn => {
                    let words: Vec<String> = value.split(',').map(str::to_uppercase).collect();
                    let known =
                        words.iter().all(|word| matches!(word.as_str(), "NEVER" | "SUCCESS" | "FAILURE" | "DELAY"));
                    if !known || (words.len() > 1 && words.iter().any(|word| word == "NEVER")) {
                        return Err(BAD_SYNTAX);
                    }
                    notify = Some(value.to_owned());
                }
                ("ORCPT", Some(value)) if self.features.dsn => {
                    let (_, address) = value.split_once(';').ok_or(BAD_SYNTAX)?;
                    xtext(address).ok_or(BAD_SYNTAX)?;
                    orcpt = Some(value.to_owned());
                }
                _ => return Err((555, "5.5.4", "parameter not offered or wrong")),
            }
        }
        check_address(&path.address, envelope.smtputf8)?;
        Ok((path.address, notify, orcpt))
    }
}
