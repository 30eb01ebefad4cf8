//! Destinations as the window sets them up: forms of every kind from the registry, the hold, pausing by hand.

use super::Desk;
use super::set_up::Steps;
use crate::failure::Failure;
use crate::keychain::LoginSecret;
use crate::view::{DestinationForm, DestinationRow, FormFieldDoc, KindDoc, ProbeStep};
use countersign_connectors::{FormField, Kind, Learned, Probe, ProbeStatus, connect, kinds, parse};
use countersign_ledger::PAUSED_BY_HAND;
use std::path::{Path, PathBuf};

/// Why a destination is paused that a person has paused. Only a person lets it go on.
/// The longest hold, in seconds: as in a destination file.
pub(super) const HOLD_MAX: u32 = 3600;

impl Desk {
    /// The kinds of destination this build has, with their forms.
    pub fn kinds(&self) -> Vec<KindDoc> {
        kinds().into_iter().map(kind_doc).collect()
    }

    /// Tries a destination as typed. Stores and sends nothing; but what was typed goes to the hosts that were typed, and in
    /// live these may be anywhere, so a page that is not ours any more could carry things out with it.
    ///
    /// # Errors
    /// Locked without presence in live; bad input with the field's name.
    pub async fn probe(
        &self,
        form: &DestinationForm,
        tell: &(dyn Fn(&ProbeStep) + Send + Sync),
    ) -> Result<Vec<ProbeStep>, Failure> {
        let config = parse(&as_file(form)?)?;
        self.present(&config.environment, "trying a destination").await?;
        let connector = connect(&config, &base_dir(form), &Learned::default())?;
        let user = form.values.get("username").map_or("", |user| user.trim());
        let steps = Steps::new(tell);
        if connector.oauth().is_some() {
            steps.step(sign_in_step(ProbeStatus::Started, "Renewing the sign-in"));
        }
        let login = match self.core.destinations.try_login(connector.as_ref(), user, &handed(form)).await? {
            Ok(login) => login,
            Err(none) => {
                steps.step(sign_in_step(ProbeStatus::Failed, none.why));
                return Ok(steps.finish());
            }
        };
        if connector.oauth().is_some() {
            steps.step(sign_in_step(
                ProbeStatus::Done,
                "The sign-in was renewed. Its refresh token may be used up by that: add the destination from this form",
            ));
        }
        // What went wrong is the last step; the window shows it there.
        match connector.check(&login, self.now(), &|p| steps.step(p)).await {
            Ok(whoami) => {
                steps.tell_clock(whoami.ahead_seconds);
                self.core.destinations.probed(&connector.account());
            }
            Err(e) => steps.step(Probe { step: e.step, status: ProbeStatus::Failed, text: e.text }),
        }
        Ok(steps.finish())
    }

    /// Adds it as typed.
    ///
    /// # Errors
    /// Those of [`Desk::add_destination`], and bad input for a form without a secret.
    pub async fn add(&self, form: &DestinationForm) -> Result<DestinationRow, Failure> {
        if form.secret.is_empty() {
            return Err(Failure::bad_input("secret", "is missing"));
        }
        let added = self.add_destination(&as_file(form)?, &base_dir(form), &handed(form)).await?;
        let (record, _) = self.existing(&added.name).await?;
        if self.core.destinations.was_probed(&record.account) {
            self.core.destinations.note_worked(&record.name).await?;
        }
        self.full_row(&record).await
    }

    /// How long what is approved for it is held.
    pub async fn set_hold(&self, name: &str, seconds: u32) -> Result<DestinationRow, Failure> {
        if seconds > HOLD_MAX {
            return Err(Failure::bad_input("undo_seconds", format!("must be from 0 to {HOLD_MAX}")));
        }
        let (mut record, _) = self.existing(name).await?;
        self.present(&record.environment, "changing a destination").await?;
        record.undo_seconds = seconds;
        self.ledger().update_destination(&record, &self.core.owner, self.now()).await?;
        self.row_of(name).await
    }

    /// Whether an unknown outcome there is finished under the same key by itself, where its contract makes that safe.
    ///
    /// # Errors
    /// Bad input where no contract of the destination recognises a repeat: there is nothing to choose.
    pub async fn set_repeats(&self, name: &str, on: bool) -> Result<DestinationRow, Failure> {
        let (record, _) = self.existing(name).await?;
        if self.full_row(&record).await?.repeats_by_itself.is_none() {
            return Err(Failure::bad_input(
                "name",
                format!("{name} recognises no repeat, so nothing is ever repeated there by itself"),
            ));
        }
        self.present(&record.environment, "changing a destination").await?;
        self.core.settings.set_repeats_by_itself(name, on, &self.core.owner, self.now()).await?;
        self.row_of(name).await
    }

    /// Nothing is handed over there until a person lets it go on. Pausing needs nobody's presence: it only holds back.
    pub async fn pause(&self, name: &str, on: bool) -> Result<DestinationRow, Failure> {
        let (record, _) = self.existing(name).await?;
        if on {
            self.ledger().pause_destination(name, PAUSED_BY_HAND, None, self.now()).await?;
        } else {
            self.present(&record.environment, "letting a destination go on").await?;
            self.ledger().resume_destination(name, self.now()).await?;
        }
        self.row_of(name).await
    }

    pub(super) async fn row_of(&self, name: &str) -> Result<DestinationRow, Failure> {
        let (record, _) = self.existing(name).await?;
        self.full_row(&record).await
    }
}

fn sign_in_step(status: ProbeStatus, text: impl Into<String>) -> Probe {
    Probe { step: "sign_in", status, text: text.into() }
}

/// What is kept in the keychain, as a descriptor gives it: the secret, and below it those that some fields ask for.
fn handed(form: &DestinationForm) -> LoginSecret {
    let fields = kinds().into_iter().find(|kind| kind.name == form.kind).map_or_else(Vec::new, |kind| kind.fields);
    let more = fields.iter().filter(|f| f.kind == "secret").filter_map(|f| form.values.get(f.key));
    let more = more.map(|value| value.trim()).filter(|value| !value.is_empty());
    // What another way to sign in asks for is no part of a password.
    let more = more.filter(|_| form.values.get("auth").is_some_and(|auth| auth == "oauth"));
    LoginSecret::new([form.secret.as_str()].into_iter().chain(more).collect::<Vec<_>>().join("\n"))
}

fn kind_doc(kind: Kind) -> KindDoc {
    let field = |f: FormField| FormFieldDoc {
        key: f.key.to_owned(),
        label: f.label.to_owned(),
        kind: f.kind.to_owned(),
        required: f.required,
        default: f.default.to_owned(),
        choices: f.choices.iter().map(|c| (*c).to_owned()).collect(),
        help: f.help.to_owned(),
    };
    KindDoc {
        name: kind.name.to_owned(),
        title: kind.title.to_owned(),
        effects: kind.effects.iter().map(|e| (*e).to_owned()).collect(),
        fields: kind.fields.into_iter().map(field).collect(),
        secret: kind.secret.to_owned(),
    }
}

/// The form as the destination file a person would write. The secret is never in it.
fn as_file(form: &DestinationForm) -> Result<String, Failure> {
    let known = kinds();
    let kind = known
        .iter()
        .find(|kind| kind.name == form.kind)
        .ok_or_else(|| Failure::bad_input("kind", format!("`{}` is not a kind of destination", form.kind)))?;
    if let Some(stranger) = form.values.keys().find(|key| !kind.fields.iter().any(|f| f.key == key.as_str())) {
        return Err(Failure::bad_input(stranger.as_str(), format!("a {} has no such field", kind.title)));
    }
    let text = |s: &str| toml::Value::String(s.trim().to_owned());
    let mut table = toml::Table::new();
    for field in kind.fields.iter().filter(|field| field.kind != "secret") {
        let Some(value) = form.values.get(field.key).map(|v| v.trim()).filter(|v| !v.is_empty()) else { continue };
        let written = match (field.kind, value) {
            ("list", _) => value.lines().map(str::trim).filter(|l| !l.is_empty()).map(text).collect::<Vec<_>>().into(),
            ("number", _) => {
                let number = value.parse::<i64>();
                number.map_err(|_| Failure::bad_input(field.key, "must be a whole number"))?.into()
            }
            ("choice", "true") => true.into(),
            ("choice", "false") => false.into(),
            _ if kind.name == "mailbox" && matches!(field.key, "smtp" | "imap") => text(&server(field.key, value)),
            _ => text(value),
        };
        table.insert(field.key.to_owned(), written);
    }
    let mut file = toml::Table::new();
    file.insert("name".into(), text(&form.name));
    file.insert("kind".into(), text(kind.name));
    file.insert("environment".into(), text(&form.environment));
    file.insert("undo_seconds".into(), toml::Value::Integer(form.undo_seconds.into()));
    file.insert(kind.name.into(), table.into());
    toml::to_string(&file).map_err(|e| Failure::internal(e.to_string()))
}

/// A mail server as people write it, `host:port`, with the scheme that its port stands for (RFC 8314); on this machine a
/// port of no such meaning is one without encryption. Whatever has a scheme stays as it is.
fn server(protocol: &str, typed: &str) -> String {
    if typed.contains("://") {
        return typed.to_owned();
    }
    let (host, port) = typed.rsplit_once(':').unwrap_or((typed, ""));
    let here = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    let scheme = match port {
        "465" | "993" => "s",
        "25" | "143" | "587" => "+starttls",
        _ if here => "+plain",
        _ => "s",
    };
    format!("{protocol}{scheme}://{typed}")
}

/// What a relative `ca_file` of the form is relative to.
fn base_dir(form: &DestinationForm) -> PathBuf {
    let file = form.values.get("ca_file").map(Path::new).filter(|p| p.is_absolute());
    file.and_then(Path::parent).map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mailbox() -> DestinationForm {
        let values = [
            ("from", "Shop Support <support@shop.example>\nOrders <orders@shop.example>"),
            ("smtp", "smtp.shop.example:465"),
            ("imap", "imap.shop.example:993"),
            ("username", "support@shop.example"),
            ("files_sent_itself", "true"),
            ("ca_file", " "),
        ];
        DestinationForm {
            name: "support-mailbox".into(),
            kind: "mailbox".into(),
            environment: "live".into(),
            undo_seconds: 10,
            values: values.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect(),
            secret: "secret".into(),
        }
    }

    #[test]
    fn r34_the_form_makes_the_same_file_a_person_would_write() {
        let text = as_file(&mailbox()).unwrap();
        assert!(!text.contains("secret"), "the secret is never in it");
        let config = parse(&text).unwrap();
        assert_eq!((config.name.as_str(), config.kind), ("support-mailbox", "mailbox"));
        assert!(
            text.contains("smtps://smtp.shop.example:465") && text.contains("imaps://imap.shop.example:993"),
            "{text}"
        );
        assert!(text.contains("files_sent_itself = true"), "{text}");
    }

    #[test]
    fn r39_what_a_form_asks_for_beside_the_secret_goes_to_the_keychain_and_not_into_the_file() {
        let mut form = mailbox();
        assert_eq!(handed(&form).expose(), "secret");
        form.values.insert("client_secret".into(), " canary ".into());
        assert_eq!(handed(&form).expose(), "secret", "a password has no client");
        for (key, value) in
            [("auth", "oauth"), ("token_endpoint", "https://id.example/token"), ("client_id", "countersign")]
        {
            form.values.insert(key.into(), value.into());
        }
        assert_eq!(handed(&form).expose(), "secret\ncanary");
        let text = as_file(&form).unwrap();
        assert!(!text.contains("canary") && text.contains("id.example"), "{text}");
        parse(&text).unwrap();
    }

    #[test]
    fn r34_a_server_is_written_as_people_write_it() {
        assert_eq!(server("smtp", "smtp.shop.example:587"), "smtp+starttls://smtp.shop.example:587");
        assert_eq!(server("imap", "127.0.0.1:1143"), "imap+plain://127.0.0.1:1143");
        assert_eq!(server("smtp", "smtp.shop.example"), "smtps://smtp.shop.example");
        assert_eq!(server("imap", "imap.shop.example:9993"), "imaps://imap.shop.example:9993");
        assert_eq!(server("smtp", "smtp+starttls://smtp.shop.example:2525"), "smtp+starttls://smtp.shop.example:2525");
    }

    #[test]
    fn r34_a_field_the_kind_does_not_have_is_refused_by_name() {
        let mut form = mailbox();
        form.values.insert("colour".into(), "blue".into());
        assert_eq!(as_file(&form).unwrap_err().field.as_deref(), Some("colour"));
        form.kind = "pigeon".into();
        assert_eq!(as_file(&form).unwrap_err().field.as_deref(), Some("kind"));
    }
}
