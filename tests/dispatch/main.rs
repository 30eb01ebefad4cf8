//! Dispatch against servers that misbehave. Effects are counted at the destination, never in our own log.

mod adopted;
mod answers;
mod automatic;
mod broken_off;
mod crm;
mod crm_certain;
mod doubt;
mod drafts;
mod endings;
mod field;
mod frozen;
mod http;
mod kills;
mod later;
mod moved_on;
mod oauth;
mod office;
mod races;
mod recipients;
mod schedule;
mod secrets;
mod simulation;
mod split;
mod stop;
mod told;
mod twice;
