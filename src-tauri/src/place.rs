//! Where the window stands. What was remembered may lie on a screen that is gone, or come from one of another scale (F50).

use std::sync::Mutex;

use tauri::{AppHandle, LogicalPosition, LogicalSize, Manager};

use crate::shell::Shell;
use crate::window::{MAIN, SMALLEST, TITLE_BAR};

/// A rectangle. Of a window: its place with the frame, its size without.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Area {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// What a screen has free for windows, in the pixels of the desktop, and how many of them are one logical pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Screen {
    pub(crate) free: Area,
    pub(crate) scale: f64,
}

/// The screens as they were when the window was last put in its place.
#[derive(Default)]
pub(crate) struct Seen(Mutex<Vec<Screen>>);

/// Where a window of that place (pixels of the desktop) has to go, in logical pixels of the screen it is on: wholly visible,
/// with its frame, whose width and height are told. None where there is no screen, or where it is in its place already.
pub(crate) fn in_sight(window: Area, frame: (f64, f64), screens: &[Screen]) -> Option<Area> {
    // Where most of it is; else the first one, which is the primary one.
    let most = screens
        .iter()
        .copied()
        .reduce(|best, s| if shared(window, s.free) > shared(window, best.free) { s } else { best });
    let screen = most?;
    let logical = |area: Area| Area {
        x: area.x / screen.scale,
        y: area.y / screen.scale,
        width: area.width / screen.scale,
        height: area.height / screen.scale,
    };
    let (window, free) = (logical(window), logical(screen.free));
    let frame = (frame.0 / screen.scale, frame.1 / screen.scale);
    // On a screen below the smallest size the top left corner counts.
    let width = window.width.clamp(SMALLEST.0, (free.width - frame.0).max(SMALLEST.0));
    let height = window.height.clamp(SMALLEST.1, (free.height - frame.1).max(SMALLEST.1));
    let right = (free.x + free.width - frame.0 - width).max(free.x);
    let bottom = (free.y + free.height - frame.1 - height).max(free.y);
    let wanted = Area { x: window.x.clamp(free.x, right), y: window.y.clamp(free.y, bottom), width, height };
    let same = |a: f64, b: f64| (a - b).abs() < 1.0;
    let there = same(wanted.x, window.x)
        && same(wanted.y, window.y)
        && same(wanted.width, window.width)
        && same(wanted.height, window.height);
    (!there).then_some(wanted)
}

/// How much two rectangles share.
fn shared(a: Area, b: Area) -> f64 {
    let side = |a: f64, a_long: f64, b: f64, b_long: f64| ((a + a_long).min(b + b_long) - a.max(b)).max(0.0);
    side(a.x, a.width, b.x, b.width) * side(a.y, a.height, b.y, b.height)
}

/// Brings the window back where the screens changed since it was put there: at the start, when it comes to the front, when
/// the scale changes, and from time to time. Where they did not, it stays wherever somebody moved it to.
pub(crate) fn keep_in_sight(app: &AppHandle) {
    if let Err(why) = put_in_sight(app) {
        tracing::warn!("the window may be where nobody sees it: {why}");
    }
}

fn put_in_sight(app: &AppHandle) -> tauri::Result<()> {
    let (Some(window), Some(seen)) = (app.get_webview_window(MAIN), app.try_state::<Seen>()) else { return Ok(()) };
    let mut screens: Vec<Screen> = window.available_monitors()?.iter().map(screen).collect();
    if let Some(primary) = window.primary_monitor()?.as_ref().map(screen) {
        screens.sort_by_key(|s| *s != primary);
    }
    // Where the desktop put it is known once it is on the screen; until then nothing is settled.
    if app.try_state::<Shell>().is_some_and(|shell| shell.visible.is_cancelled()) {
        let mut seen = seen.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if *seen == screens {
            return Ok(());
        }
        seen.clone_from(&screens);
    }
    if window.is_maximized()? || window.is_fullscreen()? {
        return Ok(());
    }
    let (at, size) = (window.outer_position()?, window.inner_size()?);
    let now = Area { x: at.x.into(), y: at.y.into(), width: size.width.into(), height: size.height.into() };
    // Nobody knows the frame before the desktop has made it: a title bar is allowed for.
    let (whole, title_bar) = (window.outer_size()?, TITLE_BAR * window.scale_factor()?);
    let frame = match (whole.width.saturating_sub(size.width), whole.height.saturating_sub(size.height)) {
        (0, 0) => (0.0, title_bar),
        (across, along) => (across.into(), along.into()),
    };
    let Some(place) = in_sight(now, frame, &screens) else { return Ok(()) };
    window.set_size(LogicalSize::new(place.width, place.height))?;
    window.set_position(LogicalPosition::new(place.x, place.y))
}

fn screen(monitor: &tauri::Monitor) -> Screen {
    let free = monitor.work_area();
    let (x, y) = (free.position.x.into(), free.position.y.into());
    let (width, height) = (free.size.width.into(), free.size.height.into());
    Screen { free: Area { x, y, width, height }, scale: monitor.scale_factor() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(x: f64, y: f64, width: f64, height: f64) -> Area {
        Area { x, y, width, height }
    }
    fn plain(x: f64, width: f64, height: f64) -> Screen {
        Screen { free: area(x, 0.0, width, height), scale: 1.0 }
    }
    /// As the window and its frame are in the pixels of a plain screen.
    fn put(window: Area, screens: &[Screen]) -> Option<Area> {
        in_sight(window, (0.0, TITLE_BAR), screens)
    }
    fn inside(window: Area, screen: Screen) -> bool {
        let (scale, free) = (screen.scale, screen.free);
        let (left, top) = (free.x / scale, free.y / scale);
        window.x >= left
            && window.y >= top
            && window.x + window.width <= left + free.width / scale
            && window.y + window.height + TITLE_BAR <= top + free.height / scale
    }

    #[test]
    fn f50_what_was_remembered_of_a_screen_that_is_gone_comes_back_wholly_visible() {
        let only = plain(0.0, 1280.0, 800.0);
        // Left at x=5000, y=200 on a screen of twice the pixels.
        let back = put(area(5000.0, 200.0, 2560.0, 1600.0), &[only]).expect("it is moved");
        assert!(inside(back, only), "{back:?}");
        assert_eq!((back.width, back.height), (1280.0, 760.0));
        for lost in [
            area(-4000.0, 100.0, 1000.0, 700.0),
            area(300.0, 5000.0, 1000.0, 700.0),
            area(1270.0, 790.0, 1000.0, 700.0),
        ] {
            let back = put(lost, &[only]).expect("it is moved");
            assert!(inside(back, only), "{lost:?}: {back:?}");
            assert_eq!((back.width, back.height), (1000.0, 700.0), "it fits, so it keeps its size");
        }
    }

    #[test]
    fn f50_a_window_that_is_visible_stays_where_it_is() {
        let two = [plain(0.0, 1280.0, 800.0), plain(1280.0, 1920.0, 1080.0)];
        assert_eq!(put(area(100.0, 20.0, 1000.0, 700.0), &two), None);
        assert_eq!(put(area(1500.0, 100.0, 1280.0, 800.0), &two), None, "on the second screen");
        assert_eq!(put(area(5000.0, 100.0, 1000.0, 700.0), &[]), None, "no screen: nothing to decide by");
    }

    #[test]
    fn f50_the_place_is_in_logical_pixels_of_the_screen_the_window_is_on() {
        let sharp = Screen { free: area(0.0, 0.0, 2560.0, 1600.0), scale: 2.0 };
        // 1280 x 760 logical pixels fill it.
        let put_sharp = |window| in_sight(window, (0.0, 2.0 * TITLE_BAR), &[sharp]);
        assert_eq!(put_sharp(area(0.0, 0.0, 2560.0, 1520.0)), None);
        let back = put_sharp(area(2000.0, 200.0, 2560.0, 1600.0)).expect("it is moved");
        assert_eq!((back.width, back.height), (1280.0, 760.0));
        assert!(inside(back, sharp), "{back:?}");
        // Most of it lies on the plain screen beside it.
        let beside = [sharp, plain(2560.0, 1920.0, 1080.0)];
        let back = put(area(2500.0, 900.0, 1000.0, 700.0), &beside).expect("it hangs over");
        assert!(inside(back, beside[1]), "{back:?}");
    }

    #[test]
    fn f50_the_frame_is_visible_too() {
        let only = plain(0.0, 1280.0, 800.0);
        let back = in_sight(area(300.0, 300.0, 1280.0, 760.0), (2.0, 24.0), &[only]);
        assert_eq!(back, Some(area(0.0, 16.0, 1278.0, 760.0)));
    }

    #[test]
    fn f50_a_screen_below_the_smallest_size_shows_the_top_left_corner() {
        let small = plain(0.0, 800.0, 600.0);
        assert_eq!(put(area(700.0, 500.0, 1280.0, 800.0), &[small]), Some(area(0.0, 0.0, SMALLEST.0, SMALLEST.1)));
    }
}
