//! The Debian package: what is in it, and that its program does a first approval.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use testkit::{Cli, Display, Scratch, Session, Window, cli};

use crate::story::{ARMED, tab_to, until_state};

/// Packed by `cargo xtask package`, which `cargo xtask test` runs before the tests.
fn package() -> PathBuf {
    let target = cli::built("countersign-app").ancestors().nth(2).expect("target/debug/PROGRAM").to_owned();
    let folder = target.join("package/debug/bundle/deb");
    let files =
        std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}; run `cargo xtask package`", folder.display()));
    let packages: Vec<PathBuf> = files
        .flatten()
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "deb"))
        .collect();
    assert_eq!(packages.len(), 1, "{packages:?}");
    packages.into_iter().next().expect("it is one")
}

fn said(program: &str, args: &[&str], file: &Path) -> String {
    let out = Command::new(program).args(args).arg(file).output().unwrap_or_else(|e| panic!("{program}: {e}"));
    assert!(out.status.success(), "{program}: {out:?}");
    String::from_utf8_lossy(&out.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn r42_the_debian_package_holds_what_a_desktop_needs_and_its_program_does_a_first_approval() {
    let package = package();
    let dir = Scratch::new("");
    let root = dir.join("root");
    let unpacked = Command::new("dpkg-deb").arg("-x").arg(&package).arg(&root).status();
    assert!(unpacked.is_ok_and(|status| status.success()), "dpkg-deb unpacks it");
    let fields = said("dpkg-deb", &["-f"], &package);
    for wanted in ["Package: countersign\n", "libwebkit2gtk-4.1-0", "libgtk-3-0", "Section: "] {
        assert!(fields.contains(wanted), "{wanted:?}: {fields}");
    }
    let entry = std::fs::read_to_string(root.join("usr/share/applications/Countersign.desktop")).expect("its entry");
    for wanted in [
        "[Desktop Entry]\n",
        "Exec=countersign-app %u\n",
        "MimeType=x-scheme-handler/countersign",
        "Icon=countersign-app\n",
        "Terminal=false\n",
    ] {
        assert!(entry.contains(wanted), "{wanted:?}: {entry}");
    }
    let icon = root.join("usr/share/icons/hicolor/128x128/apps/countersign-app.png");
    assert!(std::fs::read(&icon).expect("an icon").starts_with(b"\x89PNG"));
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(licence);
        let there = std::fs::read(root.join("usr/share/doc/countersign").join(licence)).expect("a licence");
        assert_eq!(there, std::fs::read(ours).expect("ours"), "{licence}");
    }

    let program = root.join("usr/bin/countersign-app");
    let home = dir.join("home");
    let (session, display) = (Session::with_keyring(), Display::start());
    let window = Window::open_program(&program, session, display, &home, Vec::new(), &[]).await;
    let cli = Cli::new(&home).with_env(window.session().env());
    window.until("first run is shown", "document.querySelector('[data-do=sandbox]') !== null").await;
    tab_to(&window, "input").await;
    window.type_text("Noor Brackley").await;
    tab_to(&window, "[data-do=sandbox]").await;
    window.press(&["Enter"]).await;
    window.until("what is shown can be approved", ARMED).await;
    let shown = window.eval("document.querySelector('[data-shown]').dataset.shown").await;
    let id = shown.as_str().expect("an action").to_owned();
    let both = "['.col--theirs .body', '#draft .body'].every((css) => document.querySelector(css)?.innerText.trim().length > 20)";
    assert_eq!(window.eval(both).await, Value::Bool(true), "the message and the draft can be read");
    window.press(&["ctrl+Enter"]).await;
    let done = until_state(&cli, &id, "accepted").await;
    assert_eq!(done["attempts"].as_array().map(Vec::len), Some(1), "{done:#}");
    // Nothing is held any more, so quitting asks nothing. By the display: the driver's program ends with this key.
    window.display().keys(&["alt+F4"]);
    testkit::wait::until("the program has ended", || {
        let out = window.display().command("xdotool").args(["search", "--name", "^Countersign$"]).output();
        out.is_ok_and(|out| out.stdout.is_empty()).then_some(())
    });
    // The lock on the home is free: another process may dispatch.
    cli.run(&["dispatch", "--until-idle"]).expect(0);
}
