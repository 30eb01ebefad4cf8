//! The ledger, phase by phase: on SQLite always, and on PostgreSQL 15 through the same functions where
//! `COUNTERSIGN_TEST_PG` names a server (`cargo xtask test` starts one).

mod claim;
mod decide;
mod directory;
mod durable;
mod files;
mod insights;
mod phases;
mod plans;
mod races;
mod receive;
mod reconcile;
mod records;
mod schema;
mod search;
mod stage;
mod tamper;
mod tamper_claim;
mod tamper_walk;
