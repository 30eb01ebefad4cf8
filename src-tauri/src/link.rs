//! `countersign://action/A-12`: brings the window to the front and shows that action. Any page and any mail can hold such
//! a link, so it can do nothing else: what is shown afterwards is read and decided by a person, from the start.

use tauri::{AppHandle, Manager};

use crate::shell::Shell;
use crate::window;

/// What every link of ours begins with, as the desktop hands it to us.
const SCHEME: &str = "countersign:";
const ACTION: &str = "countersign://action/A-";
/// No number of an action is longer.
const DIGITS: usize = 12;

/// Whether an argument is a link, and no option. Schemes are the same in capitals (RFC 3986, 3.1).
pub(crate) fn is(argument: &str) -> bool {
    argument.get(..SCHEME.len()).is_some_and(|start| start.eq_ignore_ascii_case(SCHEME))
}

/// The action that a link names. There is one spelling: no other host, no path after it, no question, nothing encoded.
pub(crate) fn action(link: &str) -> Option<String> {
    let digits = link.strip_prefix(ACTION)?;
    let number = (1..=DIGITS).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    (number && !digits.starts_with('0')).then(|| format!("A-{digits}"))
}

/// Follows a link. One that names nothing we have only brings the window to the front.
pub(crate) fn follow(app: &AppHandle, link: &str) {
    let (app, wanted) = (app.clone(), action(link));
    tauri::async_runtime::spawn(async move {
        let known = match wanted {
            Some(id) if app.state::<Shell>().knows(&id).await => Some(id),
            _ => None,
        };
        window::focus(&app, known.as_deref());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r38_a_link_names_an_action_in_one_spelling_and_can_say_nothing_else() {
        assert_eq!(action("countersign://action/A-12").as_deref(), Some("A-12"));
        assert!(is("countersign://action/A-12") && is("COUNTERSIGN:x"));
        assert!(!is("--open") && !is("count") && !is("äöüäöüäöü"));
        let long = format!("countersign://action/A-{}", "1".repeat(100_000));
        for other in [
            "countersign://action/",
            "countersign://action/A-",
            "countersign://action/A-12/approve",
            "countersign://action/A-12?approve=1",
            "countersign://action/A-12#approve",
            "countersign://action/A-1%32",
            "countersign://action/%41-12",
            "countersign://action/a-12",
            "countersign://action/A-12 ",
            "countersign://action/A-12\n",
            "countersign://action/A-012",
            "countersign://action/A--1",
            "countersign://action/../approve/A-12",
            "countersign://approve/A-12",
            "countersign://action@evil.example/A-12",
            "countersign://action:80/A-12",
            "countersign:action/A-12",
            "countersign:///action/A-12",
            "https://action/A-12",
            "javascript:alert(1)",
            &long,
        ] {
            assert_eq!(action(other), None, "{}", &other[..other.len().min(60)]);
        }
    }
}
