//! `cargo xtask pictures`: the pictures that README shows, taken of the real window on the sandbox.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::app::{Desk, first_paint, program};
use crate::sh::{self, ROOT, cargo, say};
use crate::{packages, page, setup};

/// File under ui/docs; what the window is started with; what is typed before the picture, in xdotool's words.
const ALL: &[(&str, &[&str], &[&str])] = &[("awaiting.png", &[], &[]), ("look-alike.png", &["--open", "A-2"], &["c"])];

/// Few colours and no dots between them: a window is flat, and the files stay small.
const SMALL: &[&str] = &["-strip", "+dither", "-colors", "128", "-define", "png:exclude-chunks=date,time"];

pub fn run() -> Result<(), String> {
    let node = setup(packages::Needs::Test)?;
    page::build(&node)?;
    sh::run("build", cargo().args(["build", "--workspace"]))?;
    for (name, start, keys) in ALL {
        let file = ROOT.join("ui/docs").join(name);
        take(&file, start, keys)?;
        println!("   {}", file.display());
    }
    say("Look at them before they are committed.");
    Ok(())
}

fn take(file: &Path, start: &[&str], keys: &[&str]) -> Result<(), String> {
    let desk = Desk::start()?;
    let mut window = desk.command(&program("countersign-app"));
    window.args(["--try-as", "Noor Brackley"]).args(start).env("COUNTERSIGN_HOME", desk.home()).stderr(Stdio::piped());
    let mut window = window.spawn().map_err(|e| format!("the window does not start: {e}"))?;
    let shown = first_paint(&mut window)
        .and_then(|_| desk.picture(file))
        .and_then(|()| desk.keys(keys))
        .and_then(|()| desk.picture(file));
    let _ = window.kill();
    let _ = window.wait();
    shown?;
    let done = Command::new("mogrify").args(SMALL).arg(file).status();
    done.ok().filter(|status| status.success()).map(drop).ok_or_else(|| "mogrify (imagemagick) failed".to_owned())
}
