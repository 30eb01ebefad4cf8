//! The pretend servers against a raw client: what they announce, keep to, refuse, and how they misbehave.

mod faults;
mod imap;
mod kept;
mod peer;
mod smtp;
