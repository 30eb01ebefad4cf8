//! The message.
