//! Lists the window's commands, so that each needs a permission of its own: one that is not listed would be open to any
//! page in any window.

use tauri_build::{AppManifest, Attributes};

const COMMANDS: &[&str] = &[
    "overview",
    "set_environment",
    "first_run",
    "list",
    "not_taken",
    "search",
    "action",
    "bundle",
    "fingerprint",
    "findings",
    "clear_finding",
    "edit",
    "approve",
    "approve_each",
    "reject",
    "undo",
    "send_now",
    "release",
    "confirm",
    "ask_now",
    "resolve",
    "revise",
    "file_copy",
    "keep_text",
    "kept_text",
    "destination_kinds",
    "probe_destination",
    "add_destination",
    "test_destination",
    "prepare_destination",
    "set_hold",
    "set_repeats",
    "pause_destination",
    "sources",
    "add_source",
    "revoke_source",
    "remove_destination",
    "unlock",
    "lock",
    "sending",
    "export",
    "ui_ready",
    "finish",
    "attach",
    "file",
    "secrets_file",
    "quit",
    "preferences",
    "set_undo_seconds",
    "set_expiry_hours",
    "set_notifications",
    "set_quiet_hours",
    "quiet_until_tomorrow",
    "back_up",
    "purge",
];

fn main() {
    let attributes = Attributes::new().app_manifest(AppManifest::new().commands(COMMANDS));
    if let Err(why) = tauri_build::try_build(attributes) {
        panic!("the window cannot be built: {why:#}");
    }
}
