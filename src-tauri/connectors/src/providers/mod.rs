//! The list of providers: each is one folder, always the same three things (`contract.toml`, `mod.rs`, `answers/`), and its
//! line here.

use crate::registry::Provider;

pub mod hubspot;
pub mod mailbox;
mod mailersend;
mod postmark;
mod resend;
mod webhook;

/// All of them, in the order the form shows them.
pub(crate) const ALL: &[Provider] = &[
    mailbox::PROVIDER,
    resend::PROVIDER,
    postmark::PROVIDER,
    mailersend::PROVIDER,
    hubspot::PROVIDER,
    webhook::PROVIDER,
];
