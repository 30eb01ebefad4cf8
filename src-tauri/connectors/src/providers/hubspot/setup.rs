//! Connection test, and the one thing HubSpot needs beforehand: a unique property for our key.

use super::HubSpot;
use super::ask::Unasked;
use super::config::KEY_PROPERTY;
use crate::transport::http::{Credentials, Request};
use crate::transport::trial::{NoReply, deliver};
use crate::{Login, Poised, Probe, ProbeStatus, SetupCode, SetupError, Whoami};
use countersign_domain::Timestamp;
use serde_json::{Value, json};

const PROPERTIES: &str = "/crm/v3/properties/contacts";

type Progress<'p> = &'p (dyn Fn(Probe) + Send + Sync);

fn failed(code: SetupCode, step: &'static str, text: impl Into<String>, progress: Progress<'_>) -> SetupError {
    let text = text.into();
    progress(Probe { step, status: ProbeStatus::Failed, text: text.clone() });
    SetupError { code, step, text }
}

fn unasked(no: Unasked, step: &'static str, progress: Progress<'_>) -> SetupError {
    let code = match () {
        () if no.signed_out() => SetupCode::Login,
        () if no.is_untrusted() => SetupCode::Tls,
        () if no.unreached() => SetupCode::Unreachable,
        () => SetupCode::Protocol,
    };
    failed(code, step, no.why, progress)
}

fn started(step: &'static str, text: &str, progress: Progress<'_>) {
    progress(Probe { step, status: ProbeStatus::Started, text: text.to_owned() });
}

fn done(step: &'static str, text: impl Into<String>, progress: Progress<'_>) {
    progress(Probe { step, status: ProbeStatus::Done, text: text.into() });
}

impl HubSpot {
    pub(super) async fn check_account(&self, login: &Login, progress: Progress<'_>) -> Result<Whoami, SetupError> {
        started("http_connect", "Connecting and asking who we are", progress);
        let portal = self.portal(login).await.map_err(|no| unasked(no, "http_connect", progress))?;
        if portal != self.config.portal {
            let text = format!("the token is of account {portal}, and this destination is {}", self.config.portal);
            return Err(failed(SetupCode::Login, "http_connect", text, progress));
        }
        done("http_connect", format!("It is HubSpot account {portal}"), progress);
        started("property", "Looking for the unique property", progress);
        let text = match self.property(login).await.map_err(|no| unasked(no, "property", progress))? {
            Some(true) => "The unique property for our key is there",
            Some(false) => "The property countersign_key is there but not unique: delete it at HubSpot, then prepare",
            None => "Not prepared: contacts cannot be made before the unique property is (destination prepare)",
        };
        done("property", text, progress);
        Ok(Whoami { account: self.config.account_text(), ..Whoami::default() })
    }

    /// Whether the property is there, and unique.
    async fn property(&self, login: &Login) -> Result<Option<bool>, Unasked> {
        let request = Request::get(self.site.base().join(&format!("{PROPERTIES}/{KEY_PROPERTY}")));
        let reply = self.question(&request, login).await?;
        match (reply.status, reply.json()) {
            (200, Some(body)) if body["name"] == KEY_PROPERTY => Ok(Some(body["hasUniqueValue"] == json!(true))),
            (404, Some(body)) if super::is_own_error(&body) => Ok(None),
            _ => Err(Unasked::of(&reply)),
        }
    }

    /// Makes it, once. Uniqueness cannot be added to a property that is there (crm.md 2.1).
    pub(super) async fn make_property(
        &self,
        login: &Login,
        at: Timestamp,
        progress: Progress<'_>,
    ) -> Result<(), SetupError> {
        started("property", "Looking for the unique property", progress);
        match self.property(login).await.map_err(|no| unasked(no, "property", progress))? {
            Some(true) => {
                done("property", "It is there already", progress);
                return Ok(());
            }
            Some(false) => {
                let text =
                    "countersign_key is there and not unique, which cannot be changed: delete it at HubSpot first";
                return Err(failed(SetupCode::NotPossible, "property", text, progress));
            }
            None => {}
        }
        let body = json!({
            "name": KEY_PROPERTY, "label": "Countersign key", "groupName": "contactinformation", "type": "string",
            "fieldType": "text", "hasUniqueValue": true, "hidden": false,
            "description": "The key of the approved action that made this contact. Leave it as it is.",
        });
        let request = Request::json("POST", self.site.base().join(PROPERTIES), &body);
        // A setting, not anybody's action: whether it was made is read again, whatever the answer was.
        let poised = self.site.approach(request, &Credentials::bearer(&login.secret), at, Value::Null).await;
        let told = match poised {
            Ok(poised) => deliver(Poised::Http(poised), self.config.site.answer_timeout).await.map_err(NoReply::answer),
            Err(answer) => Err(answer),
        };
        match self.property(login).await.map_err(|no| unasked(no, "property", progress))? {
            Some(true) => {
                done("property", "The unique property countersign_key was made", progress);
                Ok(())
            }
            _ => {
                let why = match told {
                    Ok(reply) => crate::Connector::read(self, &reply).words,
                    Err(answer) => answer.words,
                };
                Err(failed(SetupCode::NotPossible, "property", format!("it could not be made: {why}"), progress))
            }
        }
    }
}
