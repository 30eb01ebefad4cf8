//! What a person sets up: destinations, sources, preferences, backup.

use countersign_engine::LoginSecret;
use countersign_engine::desk::{NewOutcomeHook, NewSource, OutcomeHookDoc};
use countersign_engine::view::{
    DestinationForm, DestinationRow, DestinationTest, KindDoc, Preferences, ProbeStep, PurgedDoc, SnippetDoc, SourceRow,
};
use tauri::{AppHandle, Emitter, State};

use super::{Answer, told};
use crate::shell::Shell;
use crate::window::MAIN;

#[tauri::command]
pub(crate) async fn destination_kinds(shell: State<'_, Shell>) -> Answer<Vec<KindDoc>> {
    told(async { Ok(shell.desk().await?.kinds()) }.await)
}

/// Steps arrive as event "probe" while they happen.
fn tell(app: AppHandle) -> impl Fn(&ProbeStep) + Send + Sync {
    move |step: &ProbeStep| {
        if let Err(why) = app.emit_to(MAIN, "probe", step) {
            tracing::warn!("the page was not told about a step: {why}");
        }
    }
}

#[tauri::command]
pub(crate) async fn probe_destination(
    app: AppHandle,
    shell: State<'_, Shell>,
    form: DestinationForm,
) -> Answer<Vec<ProbeStep>> {
    let tell = tell(app);
    told(async { shell.desk().await?.probe(&form, &tell).await }.await)
}

#[tauri::command]
pub(crate) async fn add_destination(shell: State<'_, Shell>, form: DestinationForm) -> Answer<DestinationRow> {
    told(async { shell.desk().await?.add(&form).await }.await)
}

/// Connects and signs in; sends nothing.
#[tauri::command]
pub(crate) async fn test_destination(app: AppHandle, shell: State<'_, Shell>, name: String) -> Answer<DestinationTest> {
    let tell = tell(app);
    told(async { shell.desk().await?.test_destination(&name, None, &tell).await }.await)
}

/// Sets up what the destination needs beforehand, once.
#[tauri::command]
pub(crate) async fn prepare_destination(
    app: AppHandle,
    shell: State<'_, Shell>,
    name: String,
) -> Answer<Vec<ProbeStep>> {
    let tell = tell(app);
    told(async { shell.desk().await?.prepare_destination(&name, &tell).await }.await)
}

#[tauri::command]
pub(crate) async fn set_hold(shell: State<'_, Shell>, name: String, seconds: u32) -> Answer<DestinationRow> {
    told(async { shell.desk().await?.set_hold(&name, seconds).await }.await)
}

#[tauri::command]
pub(crate) async fn set_repeats(shell: State<'_, Shell>, name: String, on: bool) -> Answer<DestinationRow> {
    told(async { shell.desk().await?.set_repeats(&name, on).await }.await)
}

#[tauri::command]
pub(crate) async fn pause_destination(shell: State<'_, Shell>, name: String, on: bool) -> Answer<DestinationRow> {
    told(async { shell.desk().await?.pause(&name, on).await }.await)
}

/// Another password, token or refresh token. Tried before it is kept.
#[tauri::command]
pub(crate) async fn sign_in_destination(
    app: AppHandle,
    shell: State<'_, Shell>,
    name: String,
    secret: String,
) -> Answer<DestinationTest> {
    let (tell, secret) = (tell(app), LoginSecret::new(secret));
    told(async { shell.desk().await?.sign_in(&name, &secret, &tell).await }.await)
}

#[tauri::command]
pub(crate) async fn remove_destination(shell: State<'_, Shell>, name: String) -> Answer<()> {
    told(async { shell.desk().await?.remove_destination(&name).await }.await)
}

#[tauri::command]
pub(crate) async fn sources(shell: State<'_, Shell>) -> Answer<Vec<SourceRow>> {
    told(async { shell.desk().await?.sources().await }.await)
}

/// The token is in the answer and nowhere else.
#[tauri::command]
pub(crate) async fn add_source(
    shell: State<'_, Shell>,
    name: String,
    environment: String,
    effects: Vec<String>,
    destinations: Vec<String>,
    signed: bool,
) -> Answer<NewSource> {
    told(async { shell.desk().await?.add_source(&name, &environment, &effects, &destinations, signed).await }.await)
}

#[tauri::command]
pub(crate) async fn revoke_source(shell: State<'_, Shell>, name: String) -> Answer<()> {
    told(async { shell.desk().await?.revoke_source(&name).await }.await)
}

#[tauri::command]
pub(crate) async fn preferences(shell: State<'_, Shell>) -> Answer<Preferences> {
    told(async { shell.desk().await?.preferences().await }.await)
}

#[tauri::command]
pub(crate) async fn set_undo_seconds(shell: State<'_, Shell>, seconds: u32) -> Answer<Preferences> {
    told(
        async {
            let desk = shell.desk().await?;
            desk.set_undo_seconds(seconds).await?;
            desk.preferences().await
        }
        .await,
    )
}

#[tauri::command]
pub(crate) async fn set_expiry_hours(shell: State<'_, Shell>, hours: u32) -> Answer<Preferences> {
    told(
        async {
            let desk = shell.desk().await?;
            desk.set_expiry_hours(hours).await?;
            desk.preferences().await
        }
        .await,
    )
}

#[tauri::command]
pub(crate) async fn test_notification(shell: State<'_, Shell>) -> Answer<Preferences> {
    told(async { shell.desk().await?.test_notification().await }.await)
}

#[tauri::command]
pub(crate) async fn set_notifications(shell: State<'_, Shell>, on: bool, names: bool) -> Answer<Preferences> {
    told(
        async {
            let desk = shell.desk().await?;
            desk.set_notifications(on, names).await?;
            desk.preferences().await
        }
        .await,
    )
}

/// Both times, or none for never.
#[tauri::command]
pub(crate) async fn set_quiet_hours(
    shell: State<'_, Shell>,
    from: Option<String>,
    to: Option<String>,
) -> Answer<Preferences> {
    told(
        async {
            let desk = shell.desk().await?;
            desk.set_quiet_hours(from.as_deref().zip(to.as_deref())).await?;
            desk.preferences().await
        }
        .await,
    )
}

#[tauri::command]
pub(crate) async fn quiet_until_tomorrow(shell: State<'_, Shell>, on: bool) -> Answer<Preferences> {
    told(
        async {
            let desk = shell.desk().await?;
            desk.quiet_until_tomorrow(on).await?;
            desk.preferences().await
        }
        .await,
    )
}

#[tauri::command]
pub(crate) async fn back_up(shell: State<'_, Shell>, file: String) -> Answer<Preferences> {
    told(
        async {
            let desk = shell.desk().await?;
            desk.back_up(&file).await?;
            desk.preferences().await
        }
        .await,
    )
}

#[tauri::command]
pub(crate) async fn purge(shell: State<'_, Shell>, days: u32) -> Answer<PurgedDoc> {
    told(async { shell.desk().await?.purge(days).await }.await)
}

/// Where a source is told of outcomes, and how telling it went.
#[tauri::command]
pub(crate) async fn outcome_hook(shell: State<'_, Shell>, name: String) -> Answer<OutcomeHookDoc> {
    told(async { shell.desk().await?.outcome_hook(&name).await }.await)
}

/// The signing secret is in the answer and nowhere else.
#[tauri::command]
pub(crate) async fn set_outcome_hook(shell: State<'_, Shell>, name: String, url: String) -> Answer<NewOutcomeHook> {
    told(async { shell.desk().await?.set_outcome_hook(&name, &url).await }.await)
}

#[tauri::command]
pub(crate) async fn remove_outcome_hook(shell: State<'_, Shell>, name: String) -> Answer<()> {
    told(async { shell.desk().await?.remove_outcome_hook(&name).await }.await)
}

/// Canned texts of the workspace that is shown.
#[tauri::command]
pub(crate) async fn snippets(shell: State<'_, Shell>) -> Answer<Vec<SnippetDoc>> {
    told(async { shell.desk().await?.snippets().await }.await)
}

/// Adds one, or changes the one of the name `instead_of`.
#[tauri::command]
pub(crate) async fn set_snippet(
    shell: State<'_, Shell>,
    instead_of: Option<String>,
    snippet: SnippetDoc,
) -> Answer<Vec<SnippetDoc>> {
    told(async { shell.desk().await?.set_snippet(instead_of.as_deref(), snippet).await }.await)
}

#[tauri::command]
pub(crate) async fn remove_snippet(shell: State<'_, Shell>, name: String) -> Answer<Vec<SnippetDoc>> {
    told(async { shell.desk().await?.remove_snippet(&name).await }.await)
}
