//! The window of Countersign. Everything is in the library beside it.

// A program with a window needs no console on Windows.
#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

fn main() -> std::process::ExitCode {
    countersign_app::run()
}
