//! Connection test, and the one thing HubSpot needs beforehand: a unique property for our key.

use super::HubSpot;
use super::ask::{Unasked, portal_of};
use super::config::KEY_PROPERTY;
use crate::mail_api::{Progress, Steps};
use crate::transport::http::{Credentials, Request};
use crate::transport::trial::{NoReply, deliver};
use crate::{Login, Poised, SetupCode, SetupError, Whoami};
use countersign_domain::Timestamp;
use countersign_domain::explain::sentence;
use serde_json::{Value, json};

const PROPERTIES: &str = "/crm/v3/properties/contacts";

fn unasked(no: Unasked, step: &'static str, steps: &Steps<'_>) -> SetupError {
    let code = match () {
        () if no.signed_out() => SetupCode::Login,
        () if no.is_untrusted() => SetupCode::Tls,
        () if no.unreached() => SetupCode::Unreachable,
        () => SetupCode::Protocol,
    };
    steps.fail(step, code, sentence(&no.why))
}

impl HubSpot {
    pub(super) async fn check_account(
        &self,
        login: &Login,
        at: Timestamp,
        progress: Progress<'_>,
    ) -> Result<Whoami, SetupError> {
        let steps = Steps(progress);
        steps.begin("http_connect", "Connecting and asking who we are");
        let told = async {
            let reply = self.site.ask_at(&self.whose(), &Credentials::bearer(&login.secret), at).await?;
            Ok((portal_of(&reply)?, reply.ahead_seconds))
        };
        let (portal, ahead_seconds) = told.await.map_err(|no| unasked(no, "http_connect", &steps))?;
        if portal != self.config.portal {
            let text = format!("the token is of account {portal}, and this destination is {}", self.config.portal);
            return Err(steps.fail("http_connect", SetupCode::Login, text));
        }
        steps.done("http_connect", &format!("It is HubSpot account {portal}"));
        steps.begin("property", "Looking for the unique property");
        let text = match self.property(login).await.map_err(|no| unasked(no, "property", &steps))? {
            Some(true) => "The unique property for our key is there",
            Some(false) => "The property countersign_key is there but not unique: delete it at HubSpot, then prepare",
            None => "Not prepared: contacts cannot be made before the unique property is (destination prepare)",
        };
        steps.done("property", text);
        Ok(Whoami { account: self.config.account_text(), ahead_seconds, ..Whoami::default() })
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
        let steps = Steps(progress);
        steps.begin("property", "Looking for the unique property");
        match self.property(login).await.map_err(|no| unasked(no, "property", &steps))? {
            Some(true) => {
                steps.done("property", "It is there already");
                return Ok(());
            }
            Some(false) => {
                let text =
                    "countersign_key is there and not unique, which cannot be changed: delete it at HubSpot first";
                return Err(steps.fail("property", SetupCode::NotPossible, text));
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
        match self.property(login).await.map_err(|no| unasked(no, "property", &steps))? {
            Some(true) => {
                steps.done("property", "The unique property countersign_key was made");
                Ok(())
            }
            _ => {
                let why = match told {
                    Ok(reply) => crate::Connector::read(self, &reply).words,
                    Err(answer) => answer.words,
                };
                Err(steps.fail("property", SetupCode::NotPossible, format!("it could not be made: {why}")))
            }
        }
    }
}
