//! Questions to HubSpot. None of them changes anything.

use super::config::KEY_PROPERTY;
use super::look::same_value;
use super::render::{OBJECTS, as_text, is_name, named, plain_number};
use super::wire::{self, Sealed as SealedWire};
use super::{HubSpot, read};
use crate::conversation::Situation;
use crate::survey::{Record, Survey};
use crate::transport::http::{Credentials, NoAnswer, Request};
use crate::transport::reply::{answer, is_foreign};
use crate::transport::tls::Unreached;
use crate::{HttpReply, Login};
use countersign_domain::{Answer, Countersigned, MatchBy, Sealed, Sighting};
use serde_json::{Value, json};
use std::time::Duration;

/// What makes a record's name, by object.
const TITLES: [(&str, &[&str]); 4] = [
    ("contacts", &["firstname", "lastname", "email"]),
    ("companies", &["name"]),
    ("deals", &["dealname"]),
    ("tickets", &["subject"]),
];

/// Why a question has no answer.
pub(super) struct Unasked {
    pub why: String,
    because: Because,
    retry_after: Option<Duration>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Because {
    /// Nobody answered, or it was not HubSpot.
    Unreached,
    Untrusted,
    SignedOut,
    OtherAccount,
    /// HubSpot said something that is no answer to the question.
    Said,
}

impl From<NoAnswer> for Unasked {
    fn from(no: NoAnswer) -> Unasked {
        let because = match no {
            NoAnswer::Unreached(Unreached::Tls(_)) => Because::Untrusted,
            NoAnswer::Unusable => Because::SignedOut,
            _ => Because::Unreached,
        };
        Unasked { why: no.text(), because, retry_after: None }
    }
}

impl Unasked {
    /// An answer that is none to the question.
    pub fn of(reply: &HttpReply) -> Unasked {
        let answer = read(reply);
        let because = match () {
            () if is_foreign(&answer) => Because::Unreached,
            () if reply.status == 401 => Because::SignedOut,
            () => Because::Said,
        };
        Unasked { why: answer.words, because, retry_after: answer.retry_after }
    }

    fn said(why: String) -> Unasked {
        Unasked { why, because: Because::Said, retry_after: None }
    }

    pub fn is_untrusted(&self) -> bool {
        self.because == Because::Untrusted
    }

    pub fn unreached(&self) -> bool {
        matches!(self.because, Because::Unreached | Because::Untrusted)
    }

    /// Asking again is pointless before a person signed in.
    pub fn signed_out(&self) -> bool {
        matches!(self.because, Because::SignedOut | Because::OtherAccount)
    }

    pub fn sighting(self) -> Sighting {
        let signed_out = self.signed_out();
        Sighting::CannotTell { why: self.why, signed_out }
    }

    /// What it makes of an attempt that was about to begin.
    pub fn halts(self) -> Answer {
        let code = match self.because {
            Because::Unreached => "net:before_body",
            Because::Untrusted => "http:tls:failed",
            Because::SignedOut => "http:login:401",
            Because::OtherAccount => "http:login:other_account",
            Because::Said => "http:before_request:unasked",
        };
        Answer { retry_after: self.retry_after, ..answer(code, self.why) }
    }
}

/// What a record is found by.
#[derive(Clone, Copy)]
pub(super) struct Key<'a> {
    pub object: &'a str,
    /// A unique property; None: the record's number.
    pub property: Option<&'a str>,
    pub value: &'a str,
}

impl<'a> Key<'a> {
    pub fn number(object: &'a str, id: &'a str) -> Key<'a> {
        Key { object, property: None, value: id }
    }
}

impl HubSpot {
    pub(super) async fn question(&self, request: &Request, login: &Login) -> Result<HttpReply, Unasked> {
        Ok(self.site.ask(request, &Credentials::bearer(&login.secret)).await?)
    }

    pub(super) fn path(&self, rest: &str) -> String {
        self.site.base().join(rest)
    }

    /// The account that the token is of.
    pub(super) async fn portal(&self, login: &Login) -> Result<u64, Unasked> {
        portal_of(&self.question(&self.whose(), login).await?)
    }

    /// The question whose the token is.
    pub(super) fn whose(&self) -> Request {
        Request::get(self.path("/account-info/v3/details"))
    }

    /// An approval names the account. With a token of another one the record's number would be somebody else's record, and
    /// what is not found there would be no absence.
    pub(super) async fn same_account(&self, login: &Login) -> Result<(), Unasked> {
        let (portal, own) = (self.portal(login).await?, self.config.portal);
        if portal == own {
            return Ok(());
        }
        let why = format!(
            "the token is of HubSpot account {portal}, and this destination is account {own}: sign in to {own}"
        );
        Err(Unasked { why, because: Because::OtherAccount, retry_after: None })
    }

    /// A record that was not archived. The answer's number may be another one where it was merged.
    pub(super) async fn find(&self, key: Key<'_>, wanted: &[String], login: &Login) -> Result<Option<Value>, Unasked> {
        self.find_in(key, false, wanted, login).await
    }

    /// The same among what was archived, which no other question shows: it can be restored for 90 days (documentation of
    /// batch/archive).
    pub(super) async fn find_archived(
        &self,
        key: Key<'_>,
        wanted: &[String],
        login: &Login,
    ) -> Result<Option<Value>, Unasked> {
        self.find_in(key, true, wanted, login).await
    }

    async fn find_in(
        &self,
        key: Key<'_>,
        archived: bool,
        wanted: &[String],
        login: &Login,
    ) -> Result<Option<Value>, Unasked> {
        let Key { object, property, value } = key;
        // They stand in a path.
        if let Some(odd) = wanted.iter().find(|name| !is_name(name)) {
            return Err(Unasked::said(format!("`{odd}` is no internal name of a property")));
        }
        let archived = if archived { "archived=true" } else { "" };
        let request = match property {
            None => {
                let wanted = wanted.join(",");
                let properties = if wanted.is_empty() { String::new() } else { format!("properties={wanted}") };
                let query = [properties.as_str(), archived].into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>();
                let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
                Request::get(self.path(&format!("{OBJECTS}/{object}/{value}{query}")))
            }
            Some(name) => {
                let body = json!({ "idProperty": name, "properties": wanted, "inputs": [{ "id": value }] });
                let query = if archived.is_empty() { String::new() } else { format!("?{archived}") };
                Request::json("POST", self.path(&format!("{OBJECTS}/{object}/batch/read{query}")), &body)
            }
        };
        let reply = self.question(&request, login).await?;
        let body = reply.json();
        let not_there =
            |b: &Value| b["category"] == "OBJECT_NOT_FOUND" || b["errors"][0]["category"] == "OBJECT_NOT_FOUND";
        match (reply.status, body) {
            (200, Some(body)) if property.is_none() && body["id"].is_string() => Ok(Some(body)),
            (200 | 207, Some(body)) if property.is_some() && body["results"].is_array() => match &body["results"][0] {
                found @ Value::Object(_) => Ok(Some(found.clone())),
                _ if (reply.status == 200 && body["status"] == "COMPLETE") || not_there(&body) => Ok(None),
                _ => Err(Unasked::of(&reply)),
            },
            (404, Some(body)) if not_there(&body) => Ok(None),
            _ => Err(Unasked::of(&reply)),
        }
    }

    /// The record that a payload names, with the fields it writes or expects.
    pub(super) async fn survey(&self, sealed: &Sealed, login: &Login) -> Survey {
        let Ok(Some((object, record))) = named(sealed) else { return Survey::NothingToAsk };
        let payload = sealed.payload().value();
        let fields = ["fields", "expected"].iter().flat_map(|name| payload[*name].as_object().into_iter().flatten());
        let mut fields: Vec<String> = fields.map(|(name, _)| name.clone()).collect();
        fields.sort();
        fields.dedup();
        let titles = TITLES.iter().find(|(o, _)| *o == object).map_or(&[][..], |(_, names)| *names);
        let mut wanted = fields.clone();
        wanted.extend(titles.iter().map(|name| (*name).to_owned()));
        let property = match record.by {
            MatchBy::Id => None,
            MatchBy::Email => Some("email"),
            MatchBy::ExternalId => match &self.config.external_id_property {
                Some(name) => Some(name.as_str()),
                None => {
                    let why = "this destination names no external_id_property".into();
                    return Survey::CannotAsk { why, signed_out: false };
                }
            },
        };
        let value = if property.is_none() { plain_number(&record.value) } else { Some(record.value.as_str()) };
        let Some(value) = value else { return Survey::Missing };
        let found = match self.same_account(login).await {
            Ok(()) => self.find(Key { object, property, value }, &wanted, login).await,
            Err(no) => Err(no),
        };
        match found {
            Ok(Some(found)) => Survey::Found(as_record(&found, &fields, titles)),
            Ok(None) => Survey::Missing,
            Err(no) => Survey::CannotAsk { signed_out: no.signed_out(), why: no.why },
        }
    }

    /// Whether the record is still what the person saw.
    pub(super) async fn moved(&self, order: &Countersigned, login: &Login) -> Situation {
        let Some(wire) = wire::open(order.wire()) else { return Situation::Unchanged };
        let asked = match wire.target() {
            Some((object, id)) => self.record_moved(order, &wire, &object, &id, login).await,
            None if order.key().effect == "crm.contact.upsert" => self.contact_appeared(order, &wire, login).await,
            None => return Situation::NothingToAsk,
        };
        match asked {
            Ok(None) => Situation::Unchanged,
            Ok(Some((code, text))) => Situation::Changed { code, text },
            Err(no) => {
                let signed_out = no.signed_out();
                Situation::CannotAsk { pauses: no.unreached() || signed_out, signed_out, why: no.why }
            }
        }
    }

    async fn record_moved(
        &self,
        order: &Countersigned,
        wire: &SealedWire,
        object: &str,
        id: &str,
        login: &Login,
    ) -> Result<Option<(&'static str, String)>, Unasked> {
        let payload = order.sealed().payload().value();
        let expected = payload["expected"].as_object().into_iter().flatten();
        let expected: Vec<(String, String)> = expected.map(|(name, v)| (name.clone(), as_text(v))).collect();
        let seen = wire.record.iter().flat_map(|r| r.values.iter()).map(|(n, v)| (n.clone(), v.clone()));
        let must: Vec<(String, String)> = expected.into_iter().chain(seen).collect();
        let wanted: Vec<String> = must.iter().map(|(name, _)| name.clone()).collect();
        let Some(found) = self.find(Key::number(object, id), &wanted, login).await? else {
            return Ok(Some(("record_gone", format!("HubSpot has no record {id} any more."))));
        };
        let now = as_record(&found, &wanted, &[]);
        if now.id != id {
            let text = format!("Record {id} was merged into {}. Read that one before you approve again.", now.id);
            return Ok(Some(("record_merged", text)));
        }
        let version = now.version.unwrap_or_default();
        let mut other: Vec<&str> = must
            .iter()
            .filter(|(n, v)| !now.values.get(n).is_some_and(|now| same_value(v, now)))
            .map(|(n, _)| n.as_str())
            .collect();
        other.sort_unstable();
        other.dedup();
        if !other.is_empty() {
            let text = format!("Record {id} has other values now: {} (version of {version}).", other.join(", "));
            return Ok(Some(("record_changed", text)));
        }
        let wanted = &payload["expected_version"];
        if !wanted.is_null() && as_text(wanted) != version {
            return Ok(Some(("record_changed", format!("Record {id} has another version now: {version}."))));
        }
        Ok(None)
    }

    /// A contact was to be made, and somebody else made it meanwhile (F52).
    async fn contact_appeared(
        &self,
        order: &Countersigned,
        wire: &SealedWire,
        login: &Login,
    ) -> Result<Option<(&'static str, String)>, Unasked> {
        let Some(record) = order.sealed().payload().record() else { return Ok(None) };
        let property = match (record.by, &self.config.external_id_property) {
            (MatchBy::Email, _) => "email",
            (MatchBy::ExternalId, Some(name)) => name.as_str(),
            _ => return Ok(None),
        };
        let wanted = [KEY_PROPERTY.to_owned()];
        let key = Key { object: "contacts", property: Some(property), value: &record.value };
        let Some(found) = self.find(key, &wanted, login).await? else {
            return Ok(None);
        };
        let ours = wire.body()["properties"][KEY_PROPERTY] == found["properties"][KEY_PROPERTY];
        let id = found["id"].as_str().unwrap_or_default();
        let text =
            format!("HubSpot has contact {id} under this address already. Nothing was made; change that one instead.");
        Ok((!ours).then_some(("record_exists", text)))
    }
}

/// The account that an answer to [`HubSpot::whose`] names.
pub(super) fn portal_of(reply: &HttpReply) -> Result<u64, Unasked> {
    let portal = reply.json().filter(|_| reply.status == 200).and_then(|body| body["portalId"].as_u64());
    portal.ok_or_else(|| Unasked::of(reply))
}

pub(super) fn as_record(found: &Value, fields: &[String], titles: &[&str]) -> Record {
    let value = |name: &str| as_text(&found["properties"][name]);
    let titles: Vec<String> = titles.iter().map(|name| value(name)).filter(|t| !t.is_empty()).collect();
    Record {
        id: found["id"].as_str().unwrap_or_default().to_owned(),
        title: titles.join(" "),
        values: fields.iter().map(|name| (name.clone(), value(name))).collect(),
        version: found["updatedAt"].as_str().map(str::to_owned),
    }
}
