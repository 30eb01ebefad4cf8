//! The one window: where it may go (nowhere), how it comes to the front, and what closing it means.

use tauri::webview::NewWindowResponse;
use tauri::{AppHandle, Emitter, Manager, Url, WebviewUrl, WebviewWindow, WebviewWindowBuilder};

use crate::place;

pub(crate) const MAIN: &str = "main";

/// The size the window wants at first, and what a title bar takes away from a screen, in logical pixels.
const WANTED: (f64, f64) = (1280.0, 800.0);
pub(crate) const SMALLEST: (f64, f64) = (960.0, 640.0);
pub(crate) const TITLE_BAR: f64 = 40.0;

pub(crate) fn build(app: &AppHandle) -> tauri::Result<WebviewWindow> {
    let screen = app.primary_monitor().ok().flatten().map(|monitor| {
        let free = monitor.work_area().size.to_logical::<f64>(monitor.scale_factor());
        (free.width, free.height)
    });
    let (width, height) = fitting(screen);
    WebviewWindowBuilder::new(app, MAIN, WebviewUrl::default())
        .title("Countersign")
        .inner_size(width, height)
        .min_inner_size(SMALLEST.0, SMALLEST.1)
        .on_navigation(stays_here)
        .on_new_window(|_, _| NewWindowResponse::Deny)
        .build()
}

/// No larger than what the screen has free, so that the approval bar is on it; never below the smallest size.
fn fitting(free: Option<(f64, f64)>) -> (f64, f64) {
    let Some((width, height)) = free else { return WANTED };
    (WANTED.0.min(width).max(SMALLEST.0), WANTED.1.min(height - TITLE_BAR).max(SMALLEST.1))
}

/// Only our own page, and the frame that shows a customer's HTML, which is part of it.
fn stays_here(url: &Url) -> bool {
    let own = match url.scheme() {
        "tauri" => url.host_str() == Some("localhost"),
        // Where the platform has no schemes of its own, Tauri serves the page under this name.
        "http" | "https" if cfg!(windows) => url.host_str() == Some("tauri.localhost"),
        _ => false,
    };
    own || url.as_str() == "about:srcdoc"
}

/// Shows the window and gives it the focus. With an action, the page is asked to select it; nothing is decided by that.
pub(crate) fn focus(app: &AppHandle, open: Option<&str>) {
    let Some(window) = app.get_webview_window(MAIN) else { return };
    place::keep_in_sight(app);
    let shown = window.show().and_then(|()| window.unminimize()).and_then(|()| window.set_focus());
    if let Err(why) = shown {
        tracing::warn!("the window does not come to the front: {why}");
    }
    if let Some(id) = open
        && let Err(why) = app.emit_to(MAIN, "open", serde_json::json!({ "id": id }))
    {
        tracing::warn!("the page was not told what to open: {why}");
    }
}

/// Shows the window at one of its views.
pub(crate) fn go(app: &AppHandle, screen: &str) {
    focus(app, None);
    if let Err(why) = app.emit_to(MAIN, "go", serde_json::json!({ "screen": screen })) {
        tracing::warn!("the page was not told where to go: {why}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r37_the_window_fits_the_screen_with_its_title_bar() {
        assert_eq!(fitting(None), WANTED);
        assert_eq!(fitting(Some((1920.0, 1080.0))), WANTED);
        assert_eq!(fitting(Some((1280.0, 800.0))), (1280.0, 760.0));
        assert_eq!(fitting(Some((800.0, 600.0))), SMALLEST);
    }

    #[test]
    fn the_page_goes_nowhere_else() {
        let may = |url: &str| stays_here(&url.parse().expect("an address"));
        assert!(may("tauri://localhost/index.html"));
        assert!(may("about:srcdoc"));
        for url in [
            "https://example.com/",
            "http://localhost:1420/",
            "file:///etc/passwd",
            "about:blank",
            "data:text/html,x",
            "tauri://elsewhere/",
            "javascript:1",
        ] {
            assert!(!may(url), "{url}");
        }
    }
}
