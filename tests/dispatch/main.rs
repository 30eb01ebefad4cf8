//! Dispatch against servers that misbehave. Effects are counted at the destination, never in our own log.

mod field;
mod frozen;
mod kills;
mod office;
mod schedule;
mod secrets;
