//! The tray: counts, opening, the kill switch, quitting. Everything in it is also in the window, since some desktops show
//! no tray.

use countersign_domain::Timestamp;
use countersign_engine::view::{HeldRow, Overview};
use tauri::image::Image;
use tauri::menu::{Menu, MenuItem, PredefinedMenuItem};
use tauri::tray::{TrayIcon, TrayIconBuilder};
use tauri::{AppHandle, Manager, Wry};

use crate::{shell, window, worker};

const PLAIN: &[u8] = include_bytes!("../icons/tray.png");
const WAITING: &[u8] = include_bytes!("../icons/tray-waiting.png");
const UNKNOWN: &[u8] = include_bytes!("../icons/tray-unknown.png");

const NOTHING_HELD: &str = "Nothing to undo";
const QUIET: &str = "Quiet until tomorrow";
const TELL_AGAIN: &str = "Notifications are quiet. Tell again";

/// The items whose words change.
pub(crate) struct Tray {
    icon: TrayIcon<Wry>,
    head: MenuItem<Wry>,
    awaiting: MenuItem<Wry>,
    unknown: MenuItem<Wry>,
    review: MenuItem<Wry>,
    undo: MenuItem<Wry>,
    stop: MenuItem<Wry>,
    quiet: MenuItem<Wry>,
}

pub(crate) fn build(app: &AppHandle) -> tauri::Result<()> {
    let item = |id: &str, text: &str, enabled: bool| MenuItem::with_id(app, id, text, enabled, None::<&str>);
    let head = item("head", "Nothing on the way", false)?;
    let open = item("open", "Open Countersign", true)?;
    let awaiting = item("awaiting", "Awaiting you", true)?;
    let unknown = item("unknown", "Unknown", true)?;
    let review = item("review", "Needs review", true)?;
    let undo = item("undo", NOTHING_HELD, false)?;
    let quiet = item("quiet", QUIET, true)?;
    let settings = item("settings", "Settings", true)?;
    let stop = item("stop", "Stop sending for now", true)?;
    let quit = item("quit", "Quit…", true)?;
    let line = || PredefinedMenuItem::separator(app);
    let menu = Menu::with_items(
        app,
        &[
            &head,
            &line()?,
            &open,
            &awaiting,
            &unknown,
            &review,
            &line()?,
            &undo,
            &stop,
            &quiet,
            &settings,
            &line()?,
            &quit,
        ],
    )?;
    let icon = TrayIconBuilder::with_id("countersign")
        .icon(Image::from_bytes(PLAIN)?)
        .tooltip("Countersign")
        .menu(&menu)
        .on_menu_event(|app, event| match event.id().as_ref() {
            "undo" => shell::undo_last(app),
            "stop" => shell::stop_sending(app),
            "quiet" => shell::toggle_quiet(app),
            "quit" => worker::ask_to_quit(app, 0),
            // Counts lead to the window, where the reasons are. Nothing is decided from here but to take back.
            "awaiting" => window::go(app, "awaiting"),
            "unknown" => window::go(app, "unknown"),
            "review" => window::go(app, "needs_review"),
            "settings" => window::go(app, "settings"),
            _ => window::focus(app, None),
        })
        .build(app)?;
    app.manage(Tray { icon, head, awaiting, unknown, review, undo, stop, quiet });
    Ok(())
}

/// Puts the counts where a glance finds them.
pub(crate) fn show(app: &AppHandle, now: &Overview) {
    let Some(tray) = app.try_state::<Tray>() else { return };
    if let Err(why) = tray.update(now) {
        tracing::warn!("the tray was not brought up to date: {why}");
    }
}

/// Says what Undo would take back, with the seconds left.
pub(crate) fn hold(app: &AppHandle, held: &[HeldRow], now: Timestamp) {
    let Some(tray) = app.try_state::<Tray>() else { return };
    let last = held.first();
    let text = last.map_or_else(|| NOTHING_HELD.to_owned(), |row| undo_words(row, now));
    if let Err(why) = tray.undo.set_text(text).and_then(|()| tray.undo.set_enabled(last.is_some())) {
        tracing::warn!("the tray was not brought up to date: {why}");
    }
}

fn undo_words(row: &HeldRow, now: Timestamp) -> String {
    let what = match row.effect.as_str() {
        "email.reply" => "reply",
        "email.send" => "email",
        "crm.note" => "note",
        "crm.task" => "task",
        _ => "change",
    };
    let seconds = row.until.parse::<Timestamp>().map_or(0, |until| until.since(now).as_millis().div_ceil(1000));
    let who = row.who.split_whitespace().next().filter(|word| !word.contains('@'));
    match who {
        Some(who) => format!("Undo: {what} to {who} ({seconds} s)"),
        None => format!("Undo: {what} {} ({seconds} s)", row.id),
    }
}

impl Tray {
    fn update(&self, now: &Overview) -> tauri::Result<()> {
        let counts = &now.counts;
        self.head.set_text(head(counts.on_the_way, counts.unknown))?;
        let many =
            |name: &str, n: u32| if counts.more.iter().any(|m| m == name) { format!("{n}+") } else { n.to_string() };
        self.awaiting.set_text(format!("Awaiting you  {}", many("awaiting", counts.awaiting)))?;
        self.unknown.set_text(format!("Unknown  {}", many("unknown", counts.unknown)))?;
        self.review.set_text(format!("Needs review  {}", many("needs_review", counts.needs_review)))?;
        self.stop.set_text(if now.sending { "Stop sending for now" } else { "Sending is off" })?;
        self.stop.set_enabled(now.sending)?;
        self.quiet.set_text(if now.quiet { TELL_AGAIN } else { QUIET })?;
        // What is not known outranks what is waiting.
        let picture = match (counts.unknown, counts.awaiting) {
            (0, 0) => PLAIN,
            (0, _) => WAITING,
            _ => UNKNOWN,
        };
        self.icon.set_icon(Some(Image::from_bytes(picture)?))
    }
}

fn head(on_the_way: u32, unknown: u32) -> String {
    match (on_the_way, unknown) {
        (0, 0) => "Nothing on the way".to_owned(),
        (way, 0) => format!("{way} on the way"),
        (0, unknown) => format!("{unknown} unknown"),
        (way, unknown) => format!("{way} on the way, {unknown} unknown"),
    }
}

/// Whether some program of the desktop shows tray icons. Without one, closing the window has to end the program, or there
/// would be no way back to it.
#[cfg(target_os = "linux")]
pub(crate) fn has_host() -> bool {
    let ask = || {
        let bus = zbus::blocking::Connection::session()?;
        let watcher = zbus::blocking::Proxy::new(
            &bus,
            "org.kde.StatusNotifierWatcher",
            "/StatusNotifierWatcher",
            "org.kde.StatusNotifierWatcher",
        )?;
        watcher.get_property::<bool>("IsStatusNotifierHostRegistered")
    };
    ask().unwrap_or(false)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn has_host() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_says_what_is_open() {
        assert_eq!(head(0, 0), "Nothing on the way");
        assert_eq!(head(2, 0), "2 on the way");
        assert_eq!(head(0, 1), "1 unknown");
        assert_eq!(head(2, 1), "2 on the way, 1 unknown");
    }

    #[test]
    fn r38_undo_says_whose_it_is_and_how_long_it_is_there_and_never_an_address() {
        let now = Timestamp::from_millis(1_000_000);
        let row = |who: &str| HeldRow {
            id: "A-7".into(),
            effect: "email.reply".into(),
            who: who.into(),
            until: Timestamp::from_millis(1_005_200).to_string(),
        };
        assert_eq!(undo_words(&row("Marta Lindqvist"), now), "Undo: reply to Marta (6 s)");
        assert_eq!(undo_words(&row("marta@shop.example"), now), "Undo: reply A-7 (6 s)");
        assert_eq!(undo_words(&row(""), now), "Undo: reply A-7 (6 s)");
    }

    #[test]
    fn the_pictures_are_readable() {
        for bytes in [PLAIN, WAITING, UNKNOWN] {
            assert_eq!(Image::from_bytes(bytes).expect("a PNG").width(), 44);
        }
    }
}
