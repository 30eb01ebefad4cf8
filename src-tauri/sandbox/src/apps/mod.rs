//! Doubles of HTTP providers, one file each, written from the contract files and from nothing of the connectors.

pub mod described;
pub mod hubspot;
pub mod oauth;
pub mod receiver;
pub mod resend;
