//! `doctor`: what is in order, what is not, and what to do about it. It sends nothing and settles nothing; an older
//! ledger is raised to this program's schema, as by every command.

use crate::output::Ended;
use crate::session::{Needs, Session};
use countersign_engine::{Core, Failure, notify};
use serde_json::{Value, json};

struct Report(Vec<Value>);

impl Report {
    fn add(&mut self, check: &str, ok: bool, text: impl Into<String>) {
        self.0.push(json!({ "check": check, "ok": ok, "text": text.into() }));
    }
    fn failed(&mut self, check: &str, e: &Failure) {
        self.add(check, false, e.message.clone());
    }
}

pub async fn doctor(s: &Session, test_notification: bool) -> Ended {
    let mut report = Report(Vec::new());
    match s.home.config() {
        Err(e) => report.failed("home", &e),
        Ok(config) => {
            let store = config.secrets.as_ref().map_or_else(|| "memory".to_owned(), ToString::to_string);
            report.add("home", true, format!("{}, secrets in {store}", s.home.dir().display()));
            match s.core(Needs::Secrets).await {
                Err(e) => report.failed("ledger", &e),
                Ok(core) => inside(&core, &mut report).await,
            }
        }
    }
    if test_notification {
        match notify::show_test().await {
            Ok(()) => report.add("test notification", true, "shown; if you saw none, the desktop holds them back"),
            Err(why) => report.add("test notification", false, why),
        }
    }
    let ok = report.0.iter().all(|c| c["ok"] == true);
    s.out.answer(&json!({ "ok": ok, "version": env!("CARGO_PKG_VERSION"), "checks": report.0 }))
}

async fn inside(core: &Core, report: &mut Report) {
    match core.ledger.head().await {
        Ok(head) => report.add("ledger", true, format!("opens; {} journal rows", head.seq)),
        Err(e) => report.failed("ledger", &e.into()),
    }
    match core.ledger_secret().await {
        Ok(_) => report.add("secrets", true, "the ledger secret can be read"),
        Err(e) => report.failed("secrets", &e),
    }
    match core.frozen().await {
        Ok(None) => report.add("dispatch", true, "not frozen"),
        Ok(Some(frozen)) => report.add("dispatch", false, frozen.text()),
        Err(e) => report.failed("dispatch", &e),
    }
    let dispatching = core.home.is_dispatching();
    report.add(
        "dispatcher",
        true,
        if dispatching { "a process dispatches from this home" } else { "nobody dispatches now" },
    );
    match core.ledger.destinations(None).await {
        Err(e) => report.failed("destinations", &e.into()),
        Ok(all) => {
            for d in all {
                let check = format!("destination {}", d.name);
                if let Some(warning) = core.clock_warning(&d.name) {
                    report.add(&format!("clock of {}", d.name), false, warning);
                }
                let sending = core.settings.sending(&d.environment).await.unwrap_or(false);
                let switch = if sending { "on" } else { "off" };
                match (core.destinations.connect(&d), core.keychain.login(&d.name).await) {
                    (Err(e), _) | (_, Err(e)) => report.failed(&check, &e),
                    (Ok(_), Ok(None)) => report.add(&check, false, "this device holds no login for it"),
                    (Ok(_), Ok(Some(_))) => match &d.paused {
                        Some(paused) => report.add(&check, false, paused.why.clone()),
                        None => report.add(
                            &check,
                            true,
                            format!("{}; sending in {} is {switch}", d.account_label, d.environment),
                        ),
                    },
                }
            }
        }
    }
    notifications(core, report).await;
    match core.ledger.index_pending().await {
        Ok(n) => report.add("search", true, format!("{n} actions wait for the search index")),
        Err(e) => report.failed("search", &e.into()),
    }
}

/// They are a convenience of the window: where there is no desktop, nothing is missing.
async fn notifications(core: &Core, report: &mut Report) {
    let check = "notifications";
    match core.settings.notifications().await {
        Err(e) => report.failed(check, &e),
        Ok(false) => report.add(check, true, "switched off"),
        Ok(true) => match notify::service().await {
            Ok(name) => report.add(check, true, format!("shown by {name}")),
            Err(_) if !has_desktop() => report.add(check, true, "no desktop here, so there is nobody to show them to"),
            Err(why) => report.add(check, false, format!("{why} The window’s lists and counts tell everything.")),
        },
    }
}

fn has_desktop() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux") || set("DISPLAY") || set("WAYLAND_DISPLAY")
}
