//! `contract.toml`: two entries, the second one given by what it lacks.

use countersign_domain::Contract;
use std::sync::LazyLock;
use toml::{Table, Value};

static CONTRACTS: LazyLock<(Contract, Contract)> = LazyLock::new(|| {
    read(include_str!("contract.toml")).unwrap_or_else(|why| panic!("contract.toml is part of the program: {why}"))
});

/// What this destination promises, with or without a mailbox.
pub(super) fn of(has_mailbox: bool) -> &'static Contract {
    if has_mailbox { &CONTRACTS.0 } else { &CONTRACTS.1 }
}

fn read(text: &str) -> Result<(Contract, Contract), String> {
    let file: Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
    let table = |name: &str| file.get(name).and_then(Value::as_table).cloned().ok_or(format!("[{name}] is missing"));
    let with = table("with_mailbox")?;
    let mut without = with.clone();
    without.extend(table("without_mailbox")?);
    let contract = |t: Table| t.try_into::<Contract>().map_err(|e| e.to_string());
    Ok((contract(with)?, contract(without)?))
}
