//! The window of Countersign: a thin Tauri shell. Commands call the engine, news of the engine become window events.

mod commands;
mod events;
mod link;
mod place;
mod shell;
mod start;
mod tray;
mod update;
mod watchdog;
mod window;
mod worker;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use start::Options;
use tauri::{AppHandle, Manager, RunEvent, WindowEvent};
use tauri_plugin_deep_link::DeepLinkExt;
use tracing_subscriber::EnvFilter;
use watchdog::Verdict;

/// Starts the window and returns when it is over.
pub fn run() -> ExitCode {
    let mut options = match Options::parse(std::env::args_os().skip(1)) {
        Ok(options) => options.or_environment(),
        Err(why) if why.starts_with("--help") => {
            println!("{}", start::HELP);
            return ExitCode::SUCCESS;
        }
        Err(why) => {
            eprintln!("{why}\n\n{}", start::HELP);
            return ExitCode::from(2);
        }
    };
    if let Some(why) = start::refusal(start::automated(), start::display(), start::FOR_TESTS) {
        eprintln!("{why}");
        return ExitCode::from(4);
    }
    // zbus writes message headers at Info; ours hold no secrets, but nobody needs them.
    let mut filter = EnvFilter::try_from_env("COUNTERSIGN_LOG").unwrap_or_else(|_| EnvFilter::new("warn,zbus=error"));
    // At its finest level the IMAP library writes every line down, logins and people's mail among them (F44).
    for silent in ["async_imap=off", "async_imap::imap_stream=off"] {
        filter = filter.add_directive(silent.parse().expect("it is a directive"));
    }
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    log.with_ansi(std::io::stderr().is_terminal()).init();

    let (open, link) = (options.open.take(), options.link.take());
    let mut builder = tauri::Builder::default()
        .plugin(single_instance(&options))
        .plugin(window_state())
        .plugin(tauri_plugin_deep_link::init())
        .plugin(tauri_plugin_autostart::Builder::new().args(options.to_start_again()).build());
    if let Some(updater) = update::plugin() {
        builder = builder.plugin(updater);
    }
    let built = builder
        .invoke_handler(tauri::generate_handler![
            commands::overview,
            commands::set_environment,
            commands::first_run,
            commands::list,
            commands::not_taken,
            commands::search,
            commands::action,
            commands::bundle,
            commands::fingerprint,
            commands::findings,
            commands::clear_finding,
            commands::edit,
            commands::approve,
            commands::approve_each,
            commands::reject,
            commands::undo,
            commands::send_now,
            commands::release,
            commands::confirm,
            commands::ask_now,
            commands::resolve,
            commands::revise,
            commands::file_copy,
            commands::keep_text,
            commands::kept_text,
            commands::set_up::destination_kinds,
            commands::set_up::probe_destination,
            commands::set_up::add_destination,
            commands::set_up::test_destination,
            commands::set_up::prepare_destination,
            commands::set_up::set_hold,
            commands::set_up::set_repeats,
            commands::set_up::pause_destination,
            commands::set_up::sign_in_destination,
            commands::set_up::sources,
            commands::set_up::add_source,
            commands::set_up::revoke_source,
            commands::set_up::remove_destination,
            commands::unlock,
            commands::lock,
            commands::sending,
            commands::export,
            commands::ui_ready,
            commands::finish,
            commands::attach,
            commands::file,
            commands::secrets_file,
            commands::quit,
            commands::set_up::preferences,
            commands::set_up::set_undo_seconds,
            commands::set_up::set_expiry_hours,
            commands::set_up::set_notifications,
            commands::set_up::test_notification,
            commands::set_up::set_quiet_hours,
            commands::set_up::quiet_until_tomorrow,
            commands::set_up::back_up,
            commands::set_up::purge,
            commands::tally,
            commands::unfreeze,
            commands::zoom,
            commands::insights,
            commands::wire,
            commands::set_up::outcome_hook,
            commands::set_up::set_outcome_hook,
            commands::set_up::remove_outcome_hook,
            commands::set_up::snippets,
            commands::set_up::set_snippet,
            commands::set_up::remove_snippet,
            commands::desktop::desktop,
            commands::desktop::set_start_at_login,
            commands::desktop::look_for_update,
            commands::desktop::install_update,
        ])
        .setup(move |app| {
            let (painted, seen) = mpsc::channel();
            app.manage(shell::Shell::new(app.handle(), &options, painted)?);
            shell::open_early(app.handle());
            app.manage(place::Seen::default());
            window::build(app.handle())?;
            place::keep_in_sight(app.handle());
            if let Err(why) = tray::build(app.handle()) {
                tracing::warn!("there is no tray: {why}");
            }
            follow_links(app.handle());
            watch_first_frame(app.handle().clone(), seen, open, link);
            Ok(())
        })
        .build(tauri::generate_context!());
    match built {
        Ok(app) => {
            app.run(on_event);
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("The window does not start: {why}. `countersign` does the same work without a window.");
            ExitCode::FAILURE
        }
    }
}

/// A second start of the same home shows the window that is there. Needs a session bus; without one the lock on the home
/// still lets only one process dispatch.
fn single_instance(options: &Options) -> tauri::plugin::TauriPlugin<tauri::Wry> {
    tauri_plugin_single_instance::Builder::new()
        .dbus_id(start::bus_name(options))
        .callback(|app, args, _| {
            let asked = Options::parse(args.into_iter().skip(1).map(Into::into)).unwrap_or_default();
            match asked.link {
                Some(link) => link::follow(app, &link),
                None => window::focus(app, asked.open.as_deref()),
            }
        })
        .build()
}

/// Where the desktop hands links to the running program by itself (macOS); elsewhere each comes as an argument of a second
/// start.
fn follow_links(app: &AppHandle) {
    let own = app.clone();
    app.deep_link().on_open_url(move |event| {
        for url in event.urls() {
            link::follow(&own, url.as_str());
        }
    });
}

/// Size and place are remembered, whether it was hidden is not: a window that starts hidden looks like a failure.
fn window_state() -> tauri::plugin::TauriPlugin<tauri::Wry> {
    use tauri_plugin_window_state::StateFlags;
    let flags = StateFlags::SIZE | StateFlags::POSITION | StateFlags::MAXIMIZED | StateFlags::FULLSCREEN;
    tauri_plugin_window_state::Builder::new().with_state_flags(flags).build()
}

/// Waits for the page's first frame on a thread of its own, then lets the worker start.
fn watch_first_frame(app: AppHandle, seen: mpsc::Receiver<()>, open: Option<String>, link: Option<String>) {
    std::thread::spawn(move || match watchdog::watch(&seen, limit(), watchdog::is_second_try()) {
        Verdict::Painted => {
            // For whoever started us, `cargo xtask app` for one.
            eprintln!("window ready");
            app.state::<shell::Shell>().visible.cancel();
            place::keep_in_sight(&app);
            if let Some(id) = open {
                window::focus(&app, Some(&id));
            }
            if let Some(link) = link {
                link::follow(&app, &link);
            }
        }
        Verdict::Again => {
            eprintln!(
                "The window stayed white, so it starts again, drawn without the graphics card. Nothing was sent meanwhile."
            );
            let why = watchdog::start_again();
            eprintln!("It could not start again: {why}");
            app.exit(1);
        }
        Verdict::Hopeless => {
            eprintln!(
                "The window stays white also without the graphics card. Nothing is sent while nobody can see it; the queue is \
                 untouched. `countersign list` shows it here."
            );
        }
        Verdict::Closed => {}
    });
}

/// The time for the first frame; tests shorten it.
fn limit() -> Duration {
    let asked = std::env::var("COUNTERSIGN_FIRST_FRAME_SECONDS").ok().and_then(|text| text.parse().ok());
    asked.filter(|_| cfg!(debug_assertions)).map_or(watchdog::FIRST_FRAME, Duration::from_secs)
}

fn on_event(app: &AppHandle, event: RunEvent) {
    match event {
        RunEvent::WindowEvent { event: WindowEvent::CloseRequested { api, .. }, .. } => {
            if !tray::has_host() {
                // Nothing would lead back to it: closing is quitting, and the question needs the window.
                api.prevent_close();
                worker::ask_to_quit(app, 0);
            } else if app.get_webview_window(window::MAIN).is_some_and(|window| window.hide().is_ok()) {
                // The tray leads back to it. Sending goes on.
                api.prevent_close();
            }
        }
        RunEvent::WindowEvent {
            event: WindowEvent::Focused(true) | WindowEvent::ScaleFactorChanged { .. }, ..
        } => place::keep_in_sight(app),
        // The first time the worker is asked to stop; when it has, the app is told to exit once more, and does.
        RunEvent::ExitRequested { api, code, .. }
            if app.try_state::<shell::Shell>().is_some_and(|shell| !shell.stop.is_cancelled()) =>
        {
            api.prevent_exit();
            worker::ask_to_quit(app, code.unwrap_or_default());
        }
        _ => {}
    }
}
