//! Test kit
