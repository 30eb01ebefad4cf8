//! What the desktop does with the program: starting it with the session, and newer versions of it.

use countersign_engine::Failure;
use countersign_engine::view::DesktopDoc;
use tauri::{AppHandle, State};
use tauri_plugin_autostart::ManagerExt;

use super::{Answer, told};
use crate::shell::Shell;
use crate::update;

/// How it stands here, with a version that was found.
fn standing(app: &AppHandle, offered: Option<String>) -> DesktopDoc {
    let start = app.autolaunch().is_enabled();
    DesktopDoc { start_at_login: start.unwrap_or(false), updates: update::on(), offered, installed: None }
}

#[tauri::command]
pub(crate) async fn desktop(app: AppHandle) -> Answer<DesktopDoc> {
    Ok(standing(&app, None))
}

#[tauri::command]
pub(crate) async fn set_start_at_login(app: AppHandle, shell: State<'_, Shell>, on: bool) -> Answer<DesktopDoc> {
    let done = match (on, shell.start_words()) {
        (false, _) => app.autolaunch().disable(),
        (true, Ok(())) => app.autolaunch().enable(),
        (true, Err(why)) => return told(Err(why)),
    };
    told(
        done.map(|()| standing(&app, None))
            .map_err(|why| Failure::internal(format!("the desktop does not take it: {why}"))),
    )
}

/// Asks for a newer version; only a build with a key can.
#[tauri::command]
pub(crate) async fn look_for_update(app: AppHandle) -> Answer<DesktopDoc> {
    told(update::look(&app).await.map(|found| standing(&app, found.map(|update| update.version))))
}

/// Puts the newer version in the place of this one. It is used from the next start on.
#[tauri::command]
pub(crate) async fn install_update(app: AppHandle) -> Answer<DesktopDoc> {
    let done = update::install(&app).await;
    told(done.map(|version| DesktopDoc { installed: Some(version), ..standing(&app, None) }))
}
