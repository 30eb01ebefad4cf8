//! `doctor`: what is in order, what is not, and what to do about it. It sends nothing and settles nothing; an older
//! ledger is raised to this program's schema, as by every command. Its exit code is that of the gravest thing that is not
//! in order, as any other command would have ended by it.

use crate::output::Ended;
use crate::session::{Needs, Session};
use countersign_engine::{Code, Core, Failure, notify, sandbox_home};
use serde_json::{Value, json};

/// The checks, and the gravest code of those that failed.
struct Report(Vec<Value>, Option<Code>);

impl Report {
    fn fine(&mut self, check: &str, text: impl Into<String>) {
        self.put(check, true, text.into());
    }
    /// Not in order: with the code that a command would end with that meets it.
    fn wrong(&mut self, check: &str, code: Code, text: impl Into<String>) {
        self.1 = self.1.into_iter().chain([code]).max_by_key(|code| code.exit());
        self.put(check, false, text.into());
    }
    fn failed(&mut self, check: &str, e: &Failure) {
        self.wrong(check, e.code, e.message.clone());
    }
    fn put(&mut self, check: &str, ok: bool, text: String) {
        self.0.push(json!({ "check": check, "ok": ok, "text": text }));
    }
}

pub async fn doctor(s: &Session, test_notification: bool) -> Ended {
    let mut report = Report(Vec::new(), None);
    match s.home.config() {
        Err(e) => report.failed("home", &e),
        Ok(config) => {
            let store = config.secrets.as_ref().map_or_else(|| "memory".to_owned(), ToString::to_string);
            report.fine("home", format!("{}, secrets in {store}", s.home.dir().display()));
            match s.core(Needs::Secrets).await {
                Err(e) => report.failed("ledger", &e),
                Ok(core) => inside(&core, &mut report).await,
            }
        }
    }
    if test_notification {
        match notify::show_test().await {
            Ok(()) => report.fine("test notification", "shown; if you saw none, the desktop holds them back"),
            Err(why) => report.wrong("test notification", Code::Internal, why),
        }
    }
    let ok = report.0.iter().all(|c| c["ok"] == true);
    s.out.answer(&json!({ "ok": ok, "version": env!("CARGO_PKG_VERSION"), "checks": report.0 }))?;
    Ok(report.1.map_or(0, |worst| worst.exit()))
}

async fn inside(core: &Core, report: &mut Report) {
    match core.ledger.head().await {
        Ok(head) => report.fine("ledger", format!("opens; {} journal rows", head.seq)),
        Err(e) => report.failed("ledger", &e.into()),
    }
    match core.ledger_secret().await {
        Ok(_) => report.fine("secrets", "the ledger secret can be read"),
        Err(e) => report.failed("secrets", &e),
    }
    match core.frozen().await {
        Ok(None) => report.fine("dispatch", "not frozen"),
        Ok(Some(frozen)) => report.wrong("dispatch", Code::Frozen, frozen.text()),
        Err(e) => report.failed("dispatch", &e),
    }
    let dispatching = core.home.is_dispatching();
    report
        .fine("dispatcher", if dispatching { "a process dispatches from this home" } else { "nobody dispatches now" });
    match sandbox_home::is_furnished(core).await {
        Err(e) => report.failed("sandbox", &e),
        Ok(true) => {}
        Ok(false) => report.wrong(
            "sandbox",
            Code::NotFound,
            "its destination or its source was never set up: the first start did not get to its end. Say `countersign init` \
             with the same options once more, which completes it",
        ),
    }
    match core.ledger.destinations(None).await {
        Err(e) => report.failed("destinations", &e.into()),
        Ok(all) => {
            for d in all {
                let check = format!("destination {}", d.name);
                if let Some(warning) = core.clock_warning(&d.name) {
                    report.wrong(&format!("clock of {}", d.name), Code::Refused, warning);
                }
                let sending = core.settings.sending(&d.environment).await.unwrap_or(false);
                let switch = if sending { "on" } else { "off" };
                match (core.destinations.connect(&d), core.keychain.login(&d.name).await) {
                    (Err(e), _) | (_, Err(e)) => report.failed(&check, &e),
                    (Ok(_), Ok(None)) => report.wrong(
                        &check,
                        Code::NotPermitted,
                        format!(
                            "this device holds no login for it; `countersign destination login {}` takes one",
                            d.name
                        ),
                    ),
                    (Ok(_), Ok(Some(_))) => match d.paused.as_ref().filter(|paused| paused.lasts(core.clock.now())) {
                        Some(paused) => report.wrong(
                            &check,
                            Code::Refused,
                            format!("paused since {}: {}", paused.since, paused.why),
                        ),
                        None => report
                            .fine(&check, format!("{}; sending in {} is {switch}", d.account_label, d.environment)),
                    },
                }
            }
        }
    }
    notifications(core, report).await;
    match core.ledger.index_pending().await {
        Ok(n) => report.fine("search", format!("{n} actions wait for the search index")),
        Err(e) => report.failed("search", &e.into()),
    }
}

/// They are a convenience of the window: where there is no desktop, nothing is missing.
async fn notifications(core: &Core, report: &mut Report) {
    let check = "notifications";
    match core.settings.notifications().await {
        Err(e) => report.failed(check, &e),
        Ok(false) => report.fine(check, "switched off"),
        Ok(true) => match notify::service().await {
            Ok(name) => report.fine(check, format!("shown by {name}")),
            Err(_) if !has_desktop() => report.fine(check, "no desktop here, so there is nobody to show them to"),
            Err(why) => {
                report.wrong(check, Code::NotFound, format!("{why} The window’s lists and counts tell everything."));
            }
        },
    }
}

fn has_desktop() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux") || set("DISPLAY") || set("WAYLAND_DISPLAY")
}
