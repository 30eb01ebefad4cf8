//! The real window: WebKit on a virtual display, driven by keys alone, with the real keychain, the embedded sandbox, and
//! Postfix and Dovecot where a message leaves.

mod desktop;
mod morning;
mod package;
mod set_up;
mod spoken;
mod start;
mod story;
mod writing;
