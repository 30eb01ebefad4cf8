//! One folder per provider, always the same three things: `contract.toml`, `mod.rs`, `answers/`.

pub mod mailbox;
