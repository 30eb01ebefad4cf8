//! The real window: WebKit on a virtual display, driven by keys alone, with the real keychain, the embedded sandbox, and
//! Postfix and Dovecot where a message leaves.

mod set_up;
mod start;
mod story;
mod writing;
