//! The tray: counts, opening, the kill switch, quitting. Everything in it is also in the window, since some desktops show
//! no tray.

use countersign_engine::view::Overview;
use tauri::image::Image;
use tauri::menu::{Menu, MenuItem, PredefinedMenuItem};
use tauri::tray::{TrayIcon, TrayIconBuilder};
use tauri::{AppHandle, Manager, Wry};

use crate::{shell, window};

const PLAIN: &[u8] = include_bytes!("../icons/tray.png");
const WAITING: &[u8] = include_bytes!("../icons/tray-waiting.png");
const UNKNOWN: &[u8] = include_bytes!("../icons/tray-unknown.png");

/// The items whose words change.
pub(crate) struct Tray {
    icon: TrayIcon<Wry>,
    head: MenuItem<Wry>,
    awaiting: MenuItem<Wry>,
    unknown: MenuItem<Wry>,
    review: MenuItem<Wry>,
    stop: MenuItem<Wry>,
}

pub(crate) fn build(app: &AppHandle) -> tauri::Result<()> {
    let item = |id: &str, text: &str, enabled: bool| MenuItem::with_id(app, id, text, enabled, None::<&str>);
    let head = item("head", "Nothing on the way", false)?;
    let open = item("open", "Open Countersign", true)?;
    let awaiting = item("awaiting", "Awaiting you", true)?;
    let unknown = item("unknown", "Unknown", true)?;
    let review = item("review", "Needs review", true)?;
    let stop = item("stop", "Stop sending for now", true)?;
    let quit = item("quit", "Quit", true)?;
    let line = || PredefinedMenuItem::separator(app);
    let menu = Menu::with_items(
        app,
        &[&head, &line()?, &open, &awaiting, &unknown, &review, &line()?, &stop, &line()?, &quit],
    )?;
    let icon = TrayIconBuilder::with_id("countersign")
        .icon(Image::from_bytes(PLAIN)?)
        .tooltip("Countersign")
        .menu(&menu)
        .on_menu_event(|app, event| match event.id().as_ref() {
            "stop" => shell::stop_sending(app),
            "quit" => app.exit(0),
            // Counts lead to the window, where the reasons are. Nothing is decided from here.
            _ => window::focus(app, None),
        })
        .build(app)?;
    app.manage(Tray { icon, head, awaiting, unknown, review, stop });
    Ok(())
}

/// Puts the counts where a glance finds them.
pub(crate) fn show(app: &AppHandle, now: &Overview) {
    let Some(tray) = app.try_state::<Tray>() else { return };
    if let Err(why) = tray.update(now) {
        tracing::warn!("the tray was not brought up to date: {why}");
    }
}

impl Tray {
    fn update(&self, now: &Overview) -> tauri::Result<()> {
        let counts = &now.counts;
        self.head.set_text(head(counts.on_the_way, counts.unknown))?;
        self.awaiting.set_text(format!("Awaiting you  {}", counts.awaiting))?;
        self.unknown.set_text(format!("Unknown  {}", counts.unknown))?;
        self.review.set_text(format!("Needs review  {}", counts.needs_review))?;
        self.stop.set_text(if now.sending { "Stop sending for now" } else { "Sending is off" })?;
        self.stop.set_enabled(now.sending)?;
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
    fn the_pictures_are_readable() {
        for bytes in [PLAIN, WAITING, UNKNOWN] {
            assert_eq!(Image::from_bytes(bytes).expect("a PNG").width(), 44);
        }
    }
}
