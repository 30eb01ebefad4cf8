//! News of the engine on their way out: to the page, to the tray, and as a bubble where one is deserved.

use std::sync::Arc;

use countersign_engine::{Failure, Feed, Notifier};
use tauri::{AppHandle, Emitter};

use crate::shell::Open;
use crate::tray;
use crate::window::{self, MAIN};

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
    loop {
        let (event, notices) = feed.next().await?;
        if let Err(why) = app.emit_to(MAIN, "feed", &event) {
            tracing::warn!("the page was not told what moved: {why}");
        }
        refresh(app, open).await;
        if let Err(failure) = notifier.tell(notices).await {
            tracing::warn!("a notification was not shown: {failure}");
        }
    }
}

async fn refresh(app: &AppHandle, open: &Open) {
    match open.desk.overview().await {
        Ok(now) => tray::show(app, &now),
        Err(failure) => tracing::warn!("the tray was not brought up to date: {failure}"),
    }
}
