//! The system's packages: what is needed, what is missing, and how it gets here.

use std::path::Path;
use std::process::Command;

use crate::sh::{self, say};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// To build and run the app where a display is.
    App,
    /// To run it where none is.
    Headless,
    /// To run every test against the real services.
    Test,
}

const BUILD: &[&str] = &[
    "build-essential",
    "pkg-config",
    "file",
    "libwebkit2gtk-4.1-dev",
    "libayatana-appindicator3-dev",
    "ca-certificates",
];
const HEADLESS: &[&str] = &["xvfb", "xauth", "dbus", "gnome-keyring", "imagemagick", "openbox", "fonts-dejavu-core"];
const TEST: &[&str] = &[
    "webkit2gtk-driver",
    "libsecret-tools",
    "libglib2.0-bin",
    "dunst",
    // The accessibility tree of the window, and Debian's own Python that reads it.
    "at-spi2-core",
    "gir1.2-atspi-2.0",
    "python3-gi",
    "x11-utils",
    "xdotool",
    "dovecot-imapd",
    "dovecot-lmtpd",
    "postfix",
    "libsasl2-modules",
    "openssl",
    "strace",
];
const PYTHON: &[&str] = &["python3", "python3-pip"];

/// Installs what is missing. Says first that it needs root, and what for; elsewhere than on Debian and Ubuntu it only
/// says what has to be there.
pub fn install(needs: Needs, node: bool) -> Result<(), String> {
    let mut wanted: Vec<&str> = BUILD.to_vec();
    if needs != Needs::App {
        wanted.extend(HEADLESS);
    }
    if needs == Needs::Test {
        wanted.extend(TEST);
        wanted.extend(browser());
        wanted.push(postgres());
    }
    if node || needs == Needs::Test {
        wanted.extend(PYTHON);
    }
    if !Path::new("/etc/debian_version").exists() {
        say("This is not Debian or Ubuntu: nothing is installed here. Needed are what these Debian packages hold:");
        println!("   {}", wanted.join(" "));
        return Ok(());
    }
    let missing: Vec<&str> = wanted.into_iter().filter(|name| !present(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let who = if sh::is_root() { "as root" } else { "through sudo, which may ask for your password" };
    say(&format!("{} packages are missing and are installed now with apt-get, {who}:", missing.len()));
    println!("   {}", missing.join(" "));
    apt(&missing)
}

/// Mail programs whose memory `bench` compares ours with. Where they cannot be had that comparison is left out.
pub fn peers() {
    let missing: Vec<&str> =
        ["thunderbird", "claws-mail"].into_iter().filter(|name| sh::find(name).is_none()).collect();
    if !missing.is_empty() && release_says("ID=debian") {
        say(&format!("To compare memory with mail programs, these are installed: {}", missing.join(" ")));
        if let Err(why) = apt(&missing) {
            say(&format!("They cannot be installed ({why}); the comparison is left out"));
        }
    }
}

fn apt(packages: &[&str]) -> Result<(), String> {
    // A package may start its service when it is installed; ours are started by the tests, with a configuration of
    // their own. The policy file says "not now" to all of them and goes again.
    let policy = Path::new("/usr/sbin/policy-rc.d");
    let ours = !policy.exists();
    if ours {
        let make = format!("printf '#!/bin/sh\\nexit 101\\n' > {0} && chmod 755 {0}", policy.display());
        sh::run("services stay off", sh::as_root("sh").arg("-c").arg(make))?;
    }
    let done = update_and_install(packages);
    if ours {
        sh::run("services as before", sh::as_root("rm").arg("-f").arg(policy))?;
    }
    done
}

fn update_and_install(packages: &[&str]) -> Result<(), String> {
    let apt = || {
        let mut apt = sh::as_root("env");
        apt.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=600", "-qq"]);
        apt
    };
    sh::run_quiet("package lists", apt().arg("update"))?;
    sh::run_quiet("packages", apt().args(["install", "-y", "--no-install-recommends"]).args(packages))
}

fn present(package: &str) -> bool {
    let state = sh::output(Command::new("dpkg-query").args(["-W", "-f", "${db:Status-Status}\n", package]));
    state.is_some_and(|text| text.lines().any(|line| line == "installed"))
}

/// The browser for the page's own tests, unless one is here. Ubuntu's package of that name only points to a store.
fn browser() -> Option<&'static str> {
    let here = ["chromium", "chromium-browser", "google-chrome"].iter().any(|name| sh::find(name).is_some());
    (!here && release_says("ID=debian")).then_some("chromium")
}

/// The version the team ledger is prepared for where it can be had, else the system's own.
fn postgres() -> &'static str {
    if release_says("VERSION_CODENAME=bookworm") { "postgresql-15" } else { "postgresql" }
}

fn release_says(line: &str) -> bool {
    std::fs::read_to_string("/etc/os-release").is_ok_and(|text| text.lines().any(|l| l == line))
}
