//! `contract.toml`: contacts are made under a key, records are changed by number, engagements are only looked up.

use super::wire::Sealed;
use countersign_domain::Contract;
use std::collections::HashMap;
use std::sync::LazyLock;

pub(super) const EFFECTS: [&str; 5] =
    ["crm.contact.upsert", "crm.note", "crm.task", "crm.deal.update", "crm.email.log"];

static CONTRACTS: LazyLock<HashMap<String, Contract>> = LazyLock::new(|| {
    toml::from_str(include_str!("contract.toml"))
        .unwrap_or_else(|why| panic!("contract.toml is part of the program: {why}"))
});

pub(super) fn named(name: &str) -> Option<&'static Contract> {
    CONTRACTS.get(name)
}

/// What is promised for an effect before it is known how it will be done: a contact is made rather than changed.
pub(super) fn of(effect: &str) -> Option<&'static Contract> {
    named(match effect {
        "crm.contact.upsert" => "contact_create",
        "crm.deal.update" => "record_update",
        "crm.note" | "crm.task" | "crm.email.log" => "engagement",
        _ => return None,
    })
}

/// All that is promised for it: a contact that is there already is changed, and that is another promise.
pub(super) fn cases(effect: &str) -> Vec<(Option<&'static str>, &'static Contract)> {
    match effect {
        "crm.contact.upsert" => {
            [("a contact that is made", "contact_create"), ("a contact that is changed", "record_update")]
                .into_iter()
                .filter_map(|(case, name)| Some((Some(case), named(name)?)))
                .collect()
        }
        other => of(other).map(|contract| (None, contract)).into_iter().collect(),
    }
}

/// The same once it is.
pub(super) fn of_wire(effect: &str, wire: Option<&Sealed>) -> Option<&'static Contract> {
    match wire {
        Some(wire) if wire.request.method == "PATCH" => named("record_update"),
        _ => of(effect),
    }
}
