//! What is decided before there is a window: arguments, and the reasons not to start.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::link;

/// How the window was called. The same options as the command line's, which starts the window when it is given none.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Options {
    pub(crate) home: Option<PathBuf>,
    pub(crate) secrets: Option<String>,
    /// Whose sandbox to make where there is no home yet, without asking: what first run does on a click.
    pub(crate) try_as: Option<String>,
    /// An action to show first, for example from a notification.
    pub(crate) open: Option<String>,
    /// A link of ours that somebody followed.
    pub(crate) link: Option<String>,
}

pub(crate) const HELP: &str = "\
countersign-app [--home DIR] [--secrets keychain|file:PATH] [--open ACTION] [--try-as NAME] [countersign://action/ID]

Starts the window. A link shows its action and does nothing else. --try-as makes a sandbox for NAME where there is no home yet. Everything else is done by `countersign`; see `countersign --help`.";

impl Options {
    pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Options, String> {
        let mut options = Options::default();
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let name = arg.to_string_lossy().into_owned();
            let mut value = || args.next().ok_or_else(|| format!("{name} needs a value"));
            match name.as_str() {
                "--help" | "-h" => return Err("--help".to_owned()),
                "--home" => options.home = Some(value()?.into()),
                "--secrets" => options.secrets = Some(value()?.to_string_lossy().into_owned()),
                "--try-as" => options.try_as = Some(value()?.to_string_lossy().into_owned()),
                "--open" => options.open = Some(value()?.to_string_lossy().into_owned()),
                // A link can have any length; what is said about it must not.
                other if link::is(other) => options.link = Some(name),
                other => return Err(format!("{other} is not an option of the window")),
            }
        }
        Ok(options)
    }

    /// The arguments with which the same home is opened again, for example at login.
    pub(crate) fn to_start_again(&self) -> Vec<String> {
        let home = self.home.as_deref().map(|dir| std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned()));
        let home = home.map(|dir| ["--home".to_owned(), dir.to_string_lossy().into_owned()]);
        let secrets = self.secrets.clone().map(|place| ["--secrets".to_owned(), place]);
        home.into_iter().chain(secrets).flatten().collect()
    }

    /// The environment's word where no option was given.
    pub(crate) fn or_environment(mut self) -> Options {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        self.home = self.home.or_else(|| set("COUNTERSIGN_HOME").map(PathBuf::from));
        self.secrets = self.secrets.or_else(|| set("COUNTERSIGN_SECRETS").map(|s| s.to_string_lossy().into_owned()));
        self
    }
}

/// The name under which the windows of one home know each other on the session bus. Two homes are two windows.
pub(crate) fn bus_name(options: &Options) -> String {
    const OURS: &str = "app.countersign.desktop";
    match &options.home {
        None => OURS.to_owned(),
        Some(home) => {
            use std::hash::{DefaultHasher, Hash, Hasher};
            let mut place = DefaultHasher::new();
            std::path::absolute(home).unwrap_or_else(|_| home.clone()).hash(&mut place);
            format!("{OURS}.h{:016x}", place.finish())
        }
    }
}

/// Whether another program may press the buttons of this build: the window's own tests need it, and nobody else gets it.
pub(crate) const FOR_TESTS: bool = cfg!(any(debug_assertions, feature = "window-tests"));

/// Why the window cannot start at all, if so. `for_tests`: what kind of build it is, [`FOR_TESTS`].
pub(crate) fn refusal(automated: bool, display: bool, for_tests: bool) -> Option<&'static str> {
    // Whoever starts a program under window automation can press every button in it, "approve" among them.
    if automated && !for_tests {
        return Some(
            "TAURI_WEBVIEW_AUTOMATION is set, so another program could press the buttons. This build refuses to start that way.",
        );
    }
    if !display {
        return Some(
            "There is no display here (neither DISPLAY nor WAYLAND_DISPLAY is set). `countersign` does the same work without a window.",
        );
    }
    None
}

pub(crate) fn automated() -> bool {
    std::env::var_os("TAURI_WEBVIEW_AUTOMATION").is_some()
}

pub(crate) fn display() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux") || set("DISPLAY") || set("WAYLAND_DISPLAY")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Options, String> {
        Options::parse(args.iter().map(OsString::from))
    }

    #[test]
    fn options_are_those_of_the_command_line() {
        let options = parse(&["--home", "/h", "--secrets", "file:/s", "--open", "A-1", "--try-as", "Noor"])
            .expect("they are valid");
        let wanted = Options {
            home: Some("/h".into()),
            secrets: Some("file:/s".into()),
            try_as: Some("Noor".into()),
            open: Some("A-1".into()),
            link: None,
        };
        assert_eq!(options, wanted);
        assert!(parse(&["--home"]).is_err());
        assert!(parse(&["approve"]).is_err_and(|why| why.contains("approve")));
    }

    #[test]
    fn r38_a_link_is_an_argument_like_another_and_takes_no_option_with_it() {
        let options = parse(&["countersign://action/A-1"]).expect("a link");
        assert_eq!(options, Options { link: Some("countersign://action/A-1".into()), ..Options::default() });
        let options = parse(&["countersign://action/A-1 --home /elsewhere"]).expect("a link");
        assert_eq!(options.home, None);
    }

    #[test]
    fn what_starts_at_login_opens_the_same_home() {
        assert!(Options::default().to_start_again().is_empty());
        let options = Options { home: Some("/h".into()), secrets: Some("file:/s".into()), ..Options::default() };
        assert_eq!(options.to_start_again(), ["--home", "/h", "--secrets", "file:/s"]);
    }

    #[test]
    fn each_home_has_a_name_of_its_own_on_the_bus() {
        let at = |home: &str| bus_name(&Options { home: Some(home.into()), ..Options::default() });
        assert_ne!(at("/a"), at("/b"));
        assert_eq!(at("/a"), at("/a"));
        assert_eq!(bus_name(&Options::default()), "app.countersign.desktop");
    }

    #[test]
    fn without_a_display_the_command_line_is_pointed_to() {
        for for_tests in [true, false] {
            assert!(refusal(false, false, for_tests).is_some_and(|why| why.contains("countersign")));
            assert_eq!(refusal(false, true, for_tests), None);
        }
    }

    #[test]
    fn a_build_that_is_handed_out_refuses_to_start_under_window_automation() {
        for display in [true, false] {
            let why = refusal(true, display, false);
            assert!(why.is_some_and(|why| why.contains("TAURI_WEBVIEW_AUTOMATION")), "{why:?}");
        }
        assert_eq!(refusal(true, true, true), None, "the window's own tests are let in");
        assert_eq!(FOR_TESTS, cfg!(debug_assertions) || cfg!(feature = "window-tests"));
    }
}
