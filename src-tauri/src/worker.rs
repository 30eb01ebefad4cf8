//! The worker and the loopback door of the running app. Both wait until a person can see the window.

use std::sync::Arc;
use std::time::Duration;

use countersign_engine::intake::http;
use countersign_engine::{Code, Dispatcher};
use tauri::{AppHandle, Emitter, Manager};

use crate::shell::{Open, Shell};
use crate::window;

/// Where sources reach the running app, unless something else listens there.
const DOOR: &str = "127.0.0.1:7420";
/// How often we ask whether another process has stopped dispatching from this home.
const RETRY: Duration = Duration::from_secs(3);

/// Until when a quitting app waits for an attempt that is under way. What is cut off is found by the next start.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn start(app: &AppHandle, open: &Arc<Open>) {
    let (app, open) = (app.clone(), Arc::clone(open));
    tauri::async_runtime::spawn(async move {
        let shell = app.state::<Shell>();
        let seen = shell.stop.run_until_cancelled(shell.visible.cancelled()).await;
        if seen.is_some() {
            let _working = shell.working.lock().await;
            tokio::join!(dispatch(&shell, &open), listen(&shell, &open));
        }
    });
}

/// Quits; but while something approved is still held, or is to go at a time of the next day, a person is asked first (F38). A window that nobody can see asks
/// nothing: what is held stays approved and leaves at the next start.
pub(crate) fn ask_to_quit(app: &AppHandle, code: i32) {
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        let shell = app.state::<Shell>();
        let (held, scheduled) = if shell.visible.is_cancelled() && code == 0 { shell.held().await } else { (0, 0) };
        if held + scheduled == 0 {
            return quit(&app, code);
        }
        window::focus(&app, None);
        if let Err(why) = app.emit_to(window::MAIN, "quit", serde_json::json!({ "held": held, "scheduled": scheduled }))
        {
            tracing::warn!("nobody could be asked about quitting: {why}");
            quit(&app, code);
        }
    });
}

/// Quits once the attempt under way has come to its end and is written down.
pub(crate) fn quit(app: &AppHandle, code: i32) {
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        let shell = app.state::<Shell>();
        shell.stop.cancel();
        if tokio::time::timeout(PATIENCE, shell.working.lock()).await.is_err() {
            tracing::warn!("quitting while an attempt is under way; the next start finds it");
        }
        shell.settled().await;
        app.exit(code);
    });
}

/// Dispatches as soon as nobody else does.
async fn dispatch(shell: &Shell, open: &Open) {
    let mut said = false;
    while !shell.stop.is_cancelled() {
        match Dispatcher::start(open.core.clone()).await {
            Ok(dispatcher) => {
                let dispatcher = Arc::new(dispatcher);
                // Set once: this process dispatches until it ends.
                let _ = open.dispatcher.set(Arc::clone(&dispatcher));
                open.desk.set_dispatches_here(true);
                return dispatcher.run(shell.stop.clone()).await;
            }
            // The overview shows it; here it is said once.
            Err(failure) if failure.code == Code::Frozen => {
                if !said {
                    tracing::warn!("not dispatching: {failure}");
                }
            }
            Err(failure) => tracing::error!("dispatch does not start: {failure}"),
        }
        said = true;
        tokio::select! {
            () = tokio::time::sleep(RETRY) => {}
            () = shell.stop.cancelled() => {}
        }
    }
}

async fn listen(shell: &Shell, open: &Open) {
    let listener = match http::bind(DOOR).await {
        Ok(listener) => Ok(listener),
        Err(_) => http::bind("127.0.0.1:0").await,
    };
    let listener = match listener {
        Ok(listener) => listener,
        Err(failure) => return tracing::error!("no source can reach this app: {failure}"),
    };
    if let Ok(address) = listener.local_addr() {
        eprintln!("listening on {address}");
    }
    if let Err(why) = http::serve(listener, Arc::clone(&open.intake), shell.stop.clone().cancelled_owned()).await {
        tracing::error!("no source can reach this app any more: {}", why.kind());
    }
}
