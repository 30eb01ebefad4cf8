//! The command line as an outsider calls it: exit codes, fields and answers of interfaces.md.

mod agent;
mod decisions;
mod holds;
mod home;
mod intake;
mod kinds;
mod outcomes;
mod parents;
mod presence;
mod refusals;
mod renewals;
mod restored;
mod shared;
mod told;
