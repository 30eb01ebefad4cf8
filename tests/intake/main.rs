//! The doors: loopback HTTP, spoken to over a bare socket so that every header is the test's own, and the watched folder.

mod dispositions;
mod door;
mod folder;
mod wire;
