//! News of the engine on their way out: to the page, to the tray, and as a bubble where one is deserved.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use countersign_engine::feed::Notice;
use countersign_engine::{Failure, Feed, Notifier};
use tauri::{AppHandle, Emitter};

use crate::place;
use crate::shell::Open;
use crate::tray;
use crate::window::{self, MAIN};

/// How often a bundle of notifications may be due.
const BUNDLES: Duration = Duration::from_secs(30);

/// Follows the journal from now on, as long as the program runs. That carries what the command line writes as well.
pub(crate) fn follow(app: &AppHandle, open: &Arc<Open>) {
    let (app, open) = (app.clone(), Arc::clone(open));
    tauri::async_runtime::spawn(async move {
        if let Err(failure) = run(&app, &open).await {
            tracing::error!("the journal cannot be followed, so the window does not move by itself: {failure}");
        }
    });
}

async fn run(app: &AppHandle, open: &Open) -> Result<(), Failure> {
    let mut feed = Feed::from_now(open.core.clone()).await?;
    let clicked = app.clone();
    let mut notifier =
        Notifier::new(open.core.clone(), move |action| window::focus(&clicked, Some(&action.to_string())));
    refresh(app, open).await;
    let mut last_bundle = Instant::now();
    loop {
        let Some((event, notices)) = feed.poll().await? else {
            if held(app, open).await || last_bundle.elapsed() < BUNDLES {
                feed.wait().await;
                continue;
            }
            // What was kept back is told when its time has come, also while nothing else happens.
            last_bundle = Instant::now();
            // A screen that was taken away tells nobody.
            place::keep_in_sight(app);
            tell(&mut notifier, Vec::new()).await;
            continue;
        };
        if let Err(why) = app.emit_to(MAIN, "feed", &event) {
            tracing::warn!("the page was not told what moved: {why}");
        }
        refresh(app, open).await;
        tell(&mut notifier, notices).await;
    }
}

async fn tell(notifier: &mut Notifier, notices: Vec<Notice>) {
    if let Err(failure) = notifier.tell(notices).await {
        tracing::warn!("a notification was not shown: {failure}");
    }
}

/// Brings the seconds of the tray's Undo up to date while something is held; whether something is.
async fn held(app: &AppHandle, open: &Open) -> bool {
    if !open.holding.load(Ordering::Relaxed) {
        return false;
    }
    show_held(app, open).await
}

async fn show_held(app: &AppHandle, open: &Open) -> bool {
    let held = match open.desk.held().await {
        Ok(held) => held,
        Err(failure) => {
            tracing::warn!("the tray was not brought up to date: {failure}");
            Vec::new()
        }
    };
    tray::hold(app, &held, open.core.clock.now());
    open.holding.store(!held.is_empty(), Ordering::Relaxed);
    !held.is_empty()
}

async fn refresh(app: &AppHandle, open: &Open) {
    match open.desk.overview().await {
        Ok(now) => tray::show(app, &now),
        Err(failure) => tracing::warn!("the tray was not brought up to date: {failure}"),
    }
    show_held(app, open).await;
}
