//! The loopback door, spoken to over a bare socket, so that every header is the test's own.

mod dispositions;
mod door;
mod wire;
