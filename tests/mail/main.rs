//! The mailbox destination against Postfix and Dovecot, through the built command line: what left, how often, and what
//! the product says about it. Effects are counted in the recipient's mailbox, by a client of the tests' own.

mod bundle;
mod crm;
mod cuts;
mod delivery;
mod kills;
mod letterbox;
mod letterbox_faults;
mod letters;
mod oauth;
mod recipients;
