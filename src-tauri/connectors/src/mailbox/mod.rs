//! Mailbox access.
