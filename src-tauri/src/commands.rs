//! One short function per command of the page: call the desk, map the failure. What a command does is the engine's.

use countersign_domain::{ActionId, State as Stand, Verdict};
use countersign_engine::view::{
    ActionDoc, ActionPage, ApproveOne, ApprovedOne, ErrorDoc, FeedEvent, FileDoc, FindingDoc, InsightsDoc, NotTakenRow,
    Overview, SearchFilters, TallyDoc, WireDoc,
};
use countersign_engine::{Code, Desk, Failure};
use serde::Serialize;
use serde_json::Value;
use tauri::{AppHandle, Emitter, Manager, State};

use crate::shell::Shell;
use crate::window::MAIN;
use crate::worker;

pub(crate) mod desktop;
pub(crate) mod set_up;

type Answer<T> = Result<T, ErrorDoc>;

/// How many rows a search answers with at once.
const SEARCH_PAGE: u32 = 100;

fn told<T>(result: Result<T, Failure>) -> Answer<T> {
    result.map_err(|failure| failure.doc())
}

async fn on(shell: &Shell, id: &str) -> Result<(Desk, ActionId), Failure> {
    let desk = shell.desk().await?;
    let id = desk.resolve_id(id).await?;
    Ok((desk, id))
}

fn standing(text: Option<String>) -> Result<Option<Stand>, Failure> {
    let parse =
        |text: String| text.parse().map_err(|_| Failure::bad_input("state", format!("`{text}` is not a state")));
    text.filter(|text| !text.is_empty()).map(parse).transpose()
}

fn verdict_of(text: &str) -> Result<Verdict, Failure> {
    match text {
        "happened" => Ok(Verdict::Happened),
        "did_not_happen" => Ok(Verdict::DidNotHappen),
        "leave" => Ok(Verdict::Leave),
        other => Err(Failure::bad_input("verdict", format!("`{other}` is not a verdict"))),
    }
}

#[derive(Serialize)]
pub(crate) struct Hash {
    payload_hash: String,
}

#[tauri::command]
pub(crate) async fn overview(shell: State<'_, Shell>) -> Answer<Overview> {
    told(shell.overview().await)
}

#[tauri::command]
pub(crate) async fn set_environment(shell: State<'_, Shell>, environment: String) -> Answer<Overview> {
    told(async { shell.desk().await?.set_environment(&environment).await }.await)
}

#[tauri::command]
pub(crate) async fn first_run(
    shell: State<'_, Shell>,
    owner: String,
    sandbox: bool,
    passphrase: Option<String>,
) -> Answer<Overview> {
    told(shell.first_run(&owner, sandbox, passphrase.as_deref()).await)
}

/// Where first run keeps the secrets if the person chooses the encrypted file.
#[tauri::command]
pub(crate) async fn secrets_file(shell: State<'_, Shell>) -> Answer<String> {
    Ok(shell.secrets_file().display().to_string())
}

#[tauri::command]
pub(crate) async fn list(
    shell: State<'_, Shell>,
    view: String,
    state: Option<String>,
    after: Option<String>,
    limit: u32,
) -> Answer<ActionPage> {
    told(async { shell.desk().await?.list(view.parse()?, standing(state)?, after.as_deref(), limit).await }.await)
}

#[tauri::command]
pub(crate) async fn not_taken(shell: State<'_, Shell>) -> Answer<Vec<NotTakenRow>> {
    told(async { shell.desk().await?.not_taken().await }.await)
}

#[tauri::command]
pub(crate) async fn search(
    shell: State<'_, Shell>,
    text: String,
    filters: SearchFilters,
    after: Option<String>,
) -> Answer<ActionPage> {
    told(async { shell.desk().await?.search(&text, &filters, after.as_deref(), SEARCH_PAGE).await }.await)
}

#[tauri::command]
pub(crate) async fn action(app: AppHandle, shell: State<'_, Shell>, id: String) -> Answer<ActionDoc> {
    told(
        async {
            let (desk, id) = on(&shell, &id).await?;
            check_parent(&app, &desk, id);
            desk.action(id).await
        }
        .await,
    )
}

/// Asks the mailbox about the customer's message behind an opened action, while the person already reads.
fn check_parent(app: &AppHandle, desk: &Desk, id: ActionId) {
    let (app, desk) = (app.clone(), desk.clone());
    tauri::async_runtime::spawn(async move {
        match desk.check_parent(id).await {
            Ok(true) => read_again(&app, &desk, id).await,
            Ok(false) => {}
            Err(failure) => tracing::warn!(action = %id, "the customer's message was not compared: {failure}"),
        }
    });
}

async fn read_again(app: &AppHandle, desk: &Desk, id: ActionId) {
    let seq = desk.core().ledger.head().await.map_or(0, |head| head.seq);
    let news = FeedEvent { seq, actions: vec![id.to_string()], news: Vec::new() };
    let _ = app.emit_to(MAIN, "feed", &news);
}

#[tauri::command]
pub(crate) async fn bundle(app: AppHandle, shell: State<'_, Shell>, id: String) -> Answer<Vec<ActionDoc>> {
    told(
        async {
            let (desk, id) = on(&shell, &id).await?;
            check_parent(&app, &desk, id);
            desk.bundle(id).await
        }
        .await,
    )
}

#[tauri::command]
pub(crate) async fn fingerprint(shell: State<'_, Shell>, id: String, payload: Value) -> Answer<Hash> {
    told(
        async {
            let (desk, id) = on(&shell, &id).await?;
            Ok(Hash { payload_hash: desk.fingerprint(id, payload).await? })
        }
        .await,
    )
}

#[tauri::command]
pub(crate) async fn findings(shell: State<'_, Shell>, id: String, payload: Value) -> Answer<Vec<FindingDoc>> {
    told(
        async {
            let (desk, id) = on(&shell, &id).await?;
            desk.findings(id, payload).await
        }
        .await,
    )
}

#[tauri::command]
pub(crate) async fn clear_finding(
    shell: State<'_, Shell>,
    id: String,
    code: String,
    field: String,
) -> Answer<ActionDoc> {
    told(
        async {
            let (desk, id) = on(&shell, &id).await?;
            desk.clear_finding(id, &code, &field).await
        }
        .await,
    )
}

#[tauri::command]
pub(crate) async fn edit(shell: State<'_, Shell>, id: String, replaces: u32, payload: Value) -> Answer<ActionDoc> {
    told(
        async {
            let (desk, id) = on(&shell, &id).await?;
            desk.edit(id, Some(replaces), payload).await
        }
        .await,
    )
}

#[tauri::command]
pub(crate) async fn approve(
    app: AppHandle,
    shell: State<'_, Shell>,
    id: String,
    payload_hash: String,
) -> Answer<ActionDoc> {
    told(
        async {
            let (desk, id) = on(&shell, &id).await?;
            let approved = desk.approve(id, &payload_hash, &[]).await;
            if approved.as_ref().is_err_and(|failure| failure.code == Code::NotPermitted) {
                // What holds it may be known only since the mailbox was asked just now.
                read_again(&app, &desk, id).await;
            }
            approved
        }
        .await,
    )
}

/// Several actions of what is on the screen, each with its own hash; one that cannot be approved says why.
#[tauri::command]
pub(crate) async fn approve_each(shell: State<'_, Shell>, actions: Vec<ApproveOne>) -> Answer<Vec<ApprovedOne>> {
    told(async { shell.desk().await?.approve_each(&actions).await }.await)
}

#[tauri::command]
pub(crate) async fn reject(shell: State<'_, Shell>, id: String, reason: String) -> Answer<ActionDoc> {
    told(
        async {
            let (desk, id) = on(&shell, &id).await?;
            desk.reject(id, &reason).await
        }
        .await,
    )
}

#[tauri::command]
pub(crate) async fn undo(shell: State<'_, Shell>, id: String) -> Answer<ActionDoc> {
    told(
        async {
            let (desk, id) = on(&shell, &id).await?;
            desk.undo(id).await
        }
        .await,
    )
}

#[tauri::command]
pub(crate) async fn send_now(shell: State<'_, Shell>, id: String) -> Answer<ActionDoc> {
    told(
        async {
            let (desk, id) = on(&shell, &id).await?;
            desk.send_now(id).await
        }
        .await,
    )
}

#[tauri::command]
pub(crate) async fn release(shell: State<'_, Shell>, id: String) -> Answer<ActionDoc> {
    told(
        async {
            let (desk, id) = on(&shell, &id).await?;
            desk.release(id).await
        }
        .await,
    )
}

#[tauri::command]
pub(crate) async fn confirm(
    shell: State<'_, Shell>,
    id: String,
    request_id: Option<String>,
    event_id: Option<String>,
) -> Answer<ActionDoc> {
    told(
        async {
            let (desk, id) = on(&shell, &id).await?;
            desk.confirm(id, request_id.as_deref(), event_id.as_deref()).await
        }
        .await,
    )
}

#[tauri::command]
pub(crate) async fn ask_now(shell: State<'_, Shell>, id: String) -> Answer<ActionDoc> {
    told(shell.ask_now(&id).await)
}

#[tauri::command]
pub(crate) async fn finish(shell: State<'_, Shell>, id: String) -> Answer<ActionDoc> {
    told(shell.finish(&id).await)
}

#[tauri::command]
pub(crate) async fn attach(
    shell: State<'_, Shell>,
    id: String,
    filename: String,
    content_type: String,
    base64: String,
) -> Answer<FileDoc> {
    told(
        async {
            let (desk, id) = on(&shell, &id).await?;
            desk.attach(id, &filename, &content_type, &base64).await
        }
        .await,
    )
}

/// The bytes of a file of an action, in base64.
#[tauri::command]
pub(crate) async fn file(shell: State<'_, Shell>, id: String, sha256: String) -> Answer<String> {
    told(
        async {
            let (desk, id) = on(&shell, &id).await?;
            desk.file(id, &sha256).await
        }
        .await,
    )
}

#[tauri::command]
pub(crate) async fn resolve(
    shell: State<'_, Shell>,
    id: String,
    verdict: String,
    evidence: String,
) -> Answer<ActionDoc> {
    told(
        async {
            let (desk, id) = on(&shell, &id).await?;
            desk.resolve(id, verdict_of(&verdict)?, &evidence).await
        }
        .await,
    )
}

#[tauri::command]
pub(crate) async fn revise(shell: State<'_, Shell>, id: String) -> Answer<ActionDoc> {
    told(
        async {
            let (desk, id) = on(&shell, &id).await?;
            desk.revise(id, None).await
        }
        .await,
    )
}

#[tauri::command]
pub(crate) async fn file_copy(shell: State<'_, Shell>, id: String) -> Answer<ActionDoc> {
    told(shell.file_copy(&id).await)
}

#[tauri::command]
pub(crate) async fn keep_text(shell: State<'_, Shell>, id: String, text: String) -> Answer<()> {
    told(
        async {
            let (desk, id) = on(&shell, &id).await?;
            desk.keep_text(id, &text).await
        }
        .await,
    )
}

#[tauri::command]
pub(crate) async fn kept_text(shell: State<'_, Shell>, id: String) -> Answer<Option<String>> {
    told(
        async {
            let (desk, id) = on(&shell, &id).await?;
            desk.kept_text(id).await
        }
        .await,
    )
}

#[tauri::command]
pub(crate) async fn unlock(shell: State<'_, Shell>, passphrase: String) -> Answer<Overview> {
    told(shell.unlock(&passphrase).await)
}

#[tauri::command]
pub(crate) async fn lock(shell: State<'_, Shell>) -> Answer<Overview> {
    told(
        async {
            let desk = shell.desk().await?;
            desk.lock();
            desk.overview().await
        }
        .await,
    )
}

#[tauri::command]
pub(crate) async fn sending(shell: State<'_, Shell>, on: bool) -> Answer<Overview> {
    told(async { shell.desk().await?.sending(on).await }.await)
}

#[tauri::command]
pub(crate) async fn export(shell: State<'_, Shell>, format: String) -> Answer<String> {
    told(async { shell.desk().await?.export(format.parse()?, &Default::default()).await }.await)
}

/// The page is on the screen: two frames were painted.
#[tauri::command]
pub(crate) async fn ui_ready(shell: State<'_, Shell>) -> Answer<()> {
    shell.painted();
    Ok(())
}

/// The answer to the question on quitting. Put back first, or leave what is held approved: it goes at the next start.
#[tauri::command]
pub(crate) async fn quit(app: AppHandle, shell: State<'_, Shell>, put_back: bool) -> Answer<()> {
    told(
        async {
            if put_back {
                let desk = shell.desk().await?;
                desk.put_back_all(&desk.held().await?).await?;
            }
            worker::quit(&app, 0);
            Ok(())
        }
        .await,
    )
}

/// Lifts a freeze; with `adopt` a ledger from a backup or another place is taken over.
#[tauri::command]
pub(crate) async fn unfreeze(shell: State<'_, Shell>, adopt: bool) -> Answer<Overview> {
    told(
        async {
            shell.desk().await?.unfreeze(adopt).await?;
            shell.overview().await
        }
        .await,
    )
}

/// Zooms the whole window, for text up to twice its size.
#[tauri::command]
pub(crate) async fn zoom(app: AppHandle, factor: f64) -> Answer<()> {
    let zoomed = match app.get_webview_window(MAIN) {
        _ if !(1.0..=2.0).contains(&factor) => Err(Failure::bad_input("factor", "must be from 1 to 2")),
        Some(window) => window.set_zoom(factor).map_err(|why| Failure::internal(why.to_string())),
        None => Ok(()),
    };
    told(zoomed)
}

/// What a range of History holds, in bins that begin at each of `starts` (milliseconds since 1970).
#[tauri::command]
pub(crate) async fn tally(shell: State<'_, Shell>, starts: Vec<i64>, destination: Option<String>) -> Answer<TallyDoc> {
    told(async { shell.desk().await?.tally(&starts, destination.as_deref()).await }.await)
}

#[tauri::command]
pub(crate) async fn insights(shell: State<'_, Shell>, starts: Vec<i64>) -> Answer<InsightsDoc> {
    told(async { shell.desk().await?.insights(&starts).await }.await)
}

/// The bytes that leave, or would.
#[tauri::command]
pub(crate) async fn wire(shell: State<'_, Shell>, id: String) -> Answer<WireDoc> {
    told(
        async {
            let (desk, id) = on(&shell, &id).await?;
            desk.wire(id).await
        }
        .await,
    )
}
