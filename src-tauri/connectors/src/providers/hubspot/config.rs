//! The table `[hubspot]` of a destination file.

use super::{HubSpot, KIND, contract};
use crate::Connector;
use crate::registry::{FormField, Kind, Learned, Settings, text};
use crate::transport::http::BaseUrl;
use countersign_domain::AccountFingerprint;
use countersign_domain::canonical::tagged_hash;
use countersign_domain::json::FieldError;
use serde_json::json;
use std::path::Path;
use std::time::Duration;
use toml::{Table, Value};

const BASE_URL: &str = "https://api.hubapi.com";
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// The unique contact property that carries our key.
pub(super) const KEY_PROPERTY: &str = "countersign_key";

#[derive(Clone, Debug, PartialEq)]
pub struct HubSpotConfig {
    /// The account's number at HubSpot (Hub ID).
    pub portal: u64,
    pub base_url: BaseUrl,
    /// The unique property that `external_id` stands for.
    pub external_id_property: Option<String>,
    pub answer_timeout: Duration,
    pub ca_file: Option<String>,
}

impl HubSpotConfig {
    pub(super) fn read(table: &Table, loopback_only: bool) -> Result<HubSpotConfig, FieldError> {
        let portal = match table.get("portal") {
            Some(Value::Integer(n)) if *n > 0 => *n as u64,
            Some(Value::String(s)) if s.parse::<u64>().is_ok_and(|n| n > 0) => s.parse().unwrap_or_default(),
            Some(_) => return Err(FieldError::new("portal", "must be the account's number (Hub ID)")),
            None => return Err(FieldError::new("portal", "is missing")),
        };
        let optional = |key: &str| if table.contains_key(key) { text(table, key).map(Some) } else { Ok(None) };
        let base = optional("base_url")?.unwrap_or_else(|| BASE_URL.to_owned());
        let external_id_property = optional("external_id_property")?;
        if external_id_property.as_ref().is_some_and(|name| !super::render::is_name(name)) {
            return Err(FieldError::new("external_id_property", "must be a property's internal name: a-z, 0-9 and _"));
        }
        let answer_timeout = match table.get("answer_timeout_seconds") {
            None => ANSWER_TIMEOUT,
            Some(Value::Integer(n)) if (1..=3600).contains(n) => Duration::from_secs(*n as u64),
            Some(_) => return Err(FieldError::new("answer_timeout_seconds", "must be a whole number from 1 to 3600")),
        };
        Ok(HubSpotConfig {
            portal,
            base_url: BaseUrl::read(&base, loopback_only).map_err(|why| FieldError::new("base_url", why))?,
            external_id_property,
            answer_timeout,
            ca_file: optional("ca_file")?,
        })
    }

    pub(super) fn account(&self) -> AccountFingerprint {
        let value = json!({ "kind": KIND, "hosts": [self.base_url.text()], "login": self.portal, "sender": [] });
        AccountFingerprint(tagged_hash("countersign/account/v1", &value))
    }

    pub(super) fn account_text(&self) -> String {
        format!("HubSpot account {} at {}", self.portal, self.base_url.authority())
    }
}

impl Settings for HubSpotConfig {
    fn connect(&self, base_dir: &Path, _learned: &Learned) -> Result<Box<dyn Connector>, FieldError> {
        Ok(Box::new(HubSpot::new(self, base_dir)?))
    }
}

pub(super) fn kind() -> Kind {
    let field = |key, label, kind, required, default, help| FormField {
        key,
        label,
        kind,
        required,
        default,
        choices: &[],
        help,
    };
    Kind {
        name: KIND,
        title: "HubSpot",
        effects: contract::EFFECTS.to_vec(),
        secret: "token",
        fields: vec![
            field("portal", "Account number", "number", true, "", "The Hub ID, at the top right of HubSpot"),
            field(
                "external_id_property",
                "External id property",
                "text",
                false,
                "",
                "Internal name of the unique property that a proposal’s external_id stands for",
            ),
            field("base_url", "Server", "url", false, BASE_URL, "Only for a test server"),
            field("answer_timeout_seconds", "Wait for the answer", "number", false, "60", "Seconds"),
            field(
                "ca_file",
                "Certificate authority",
                "file",
                false,
                "",
                "PEM file, for a server with a certificate of its own",
            ),
        ],
    }
}
