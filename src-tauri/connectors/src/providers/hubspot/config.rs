//! The table `[hubspot]` of a destination file.

use super::{HubSpot, KIND, contract};
use crate::Connector;
use crate::registry::{FormField, Kind, Learned, Settings, text};
use crate::site::SiteConfig;
use crate::transport::oauth::OAuthConfig;
use countersign_domain::AccountFingerprint;
use countersign_domain::canonical::tagged_hash;
use countersign_domain::json::FieldError;
use serde_json::json;
use std::path::Path;
use toml::{Table, Value};

const BASE_URL: &str = "https://api.hubapi.com";
/// The unique contact property that carries our key.
pub(super) const KEY_PROPERTY: &str = "countersign_key";

#[derive(Clone, Debug, PartialEq)]
pub struct HubSpotConfig {
    /// The account's number at HubSpot (Hub ID).
    pub portal: u64,
    pub site: SiteConfig,
    /// The unique property that `external_id` stands for.
    pub external_id_property: Option<String>,
    /// None: a private app's token.
    pub oauth: Option<OAuthConfig>,
}

/// How one can sign in.
const AUTH: &[&str] = &["token", "oauth"];

impl HubSpotConfig {
    pub(super) fn read(table: &Table, loopback_only: bool) -> Result<HubSpotConfig, FieldError> {
        let portal = match table.get("portal") {
            Some(Value::Integer(n)) if *n > 0 => *n as u64,
            Some(Value::String(s)) if s.parse::<u64>().is_ok_and(|n| n > 0) => s.parse().unwrap_or_default(),
            Some(_) => return Err(FieldError::new("portal", "must be the account's number (Hub ID)")),
            None => return Err(FieldError::new("portal", "is missing")),
        };
        let property = table.get("external_id_property").map(|_| text(table, "external_id_property"));
        let external_id_property = property.transpose()?;
        if external_id_property.as_ref().is_some_and(|name| !super::render::is_name(name)) {
            return Err(FieldError::new("external_id_property", "must be a property's internal name: a-z, 0-9 and _"));
        }
        let site = SiteConfig::read(table, loopback_only, Some(BASE_URL), false)?;
        OAuthConfig::checked(table, AUTH)?;
        let oauth = OAuthConfig::read(table, loopback_only)?;
        Ok(HubSpotConfig { portal, site, external_id_property, oauth })
    }

    pub(super) fn account(&self) -> AccountFingerprint {
        // HubSpot's other name for the same servers.
        let place = self.site.base.place().replace("://api.hubspot.com", "://api.hubapi.com");
        let value = json!({ "kind": KIND, "hosts": [place], "login": self.portal, "sender": [] });
        AccountFingerprint(tagged_hash("countersign/account/v1", &value))
    }

    pub(super) fn account_text(&self) -> String {
        format!("HubSpot account {} at {}", self.portal, self.site.base.shown())
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
    let mut fields = vec![
        field("portal", "Account number", "number", true, "", "The Hub ID, at the top right of HubSpot"),
        field(
            "external_id_property",
            "External id property",
            "text",
            false,
            "",
            "Internal name of the unique property that a proposal’s external_id stands for",
        ),
    ];
    fields.extend(SiteConfig::fields(BASE_URL, false));
    fields.extend(OAuthConfig::fields(AUTH));
    Kind { name: KIND, title: "HubSpot", effects: contract::EFFECTS.to_vec(), secret: "token", fields }
}
