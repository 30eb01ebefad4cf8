//! The one window: where it may go (nowhere), how it comes to the front, and what closing it means.

use tauri::webview::NewWindowResponse;
use tauri::{AppHandle, Emitter, Manager, Url, WebviewUrl, WebviewWindow, WebviewWindowBuilder};

pub(crate) const MAIN: &str = "main";

pub(crate) fn build(app: &AppHandle) -> tauri::Result<WebviewWindow> {
    WebviewWindowBuilder::new(app, MAIN, WebviewUrl::default())
        .title("Countersign")
        .inner_size(1280.0, 800.0)
        .min_inner_size(960.0, 640.0)
        .on_navigation(stays_here)
        .on_new_window(|_, _| NewWindowResponse::Deny)
        .build()
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
