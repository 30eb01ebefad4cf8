//! New versions of the program itself. A build without a key and a place asks nobody, ever. One with both asks when a
//! person wants to know, takes only what is signed for the version that was announced, and never goes back.

use std::time::Duration;

use countersign_engine::{Code, Failure};
use tauri::{AppHandle, Wry};
use tauri_plugin_updater::{Update, UpdaterExt};

/// The minisign key of our releases, in base64 as `tauri signer generate` writes it.
const KEY: (&str, Option<&str>) = ("COUNTERSIGN_UPDATE_KEY", option_env!("COUNTERSIGN_UPDATE_KEY"));
/// Where the newest release is told of, with https.
const PLACE: (&str, Option<&str>) = ("COUNTERSIGN_UPDATE_URL", option_env!("COUNTERSIGN_UPDATE_URL"));
/// No version below this one is installed, although it is newer than the one that runs: set it where a version between has
/// a hole.
const FLOOR: (&str, Option<&str>) = ("COUNTERSIGN_UPDATE_FLOOR", option_env!("COUNTERSIGN_UPDATE_FLOOR"));

/// How long the place may take to answer.
const ANSWER: Duration = Duration::from_secs(20);

/// What the build was given. Tests may say it at the start, in a debug build only.
fn given((name, built): (&str, Option<&str>)) -> Option<String> {
    let said = std::env::var(name).ok().filter(|_| cfg!(debug_assertions));
    said.or_else(|| built.map(str::to_owned)).filter(|text| !text.is_empty())
}

/// The floor; an error where something else than a version was given for it.
fn floor() -> Result<Option<Version>, semver::Error> {
    given(FLOOR).map(|text| text.parse()).transpose()
}

/// Whether this build can be updated at all.
pub(crate) fn on() -> bool {
    given(KEY).is_some() && given(PLACE).is_some() && floor().is_ok()
}

/// The library behind it, where it is on. Without it there is no code that could ask.
pub(crate) fn plugin() -> Option<tauri::plugin::TauriPlugin<Wry, tauri_plugin_updater::Config>> {
    let key = given(KEY).filter(|_| on())?;
    let floor = floor().ok()?;
    let newer = move |running: Version, offered: tauri_plugin_updater::RemoteRelease| {
        rises(&running, floor.as_ref(), &offered.version)
    };
    Some(tauri_plugin_updater::Builder::new().pubkey(key).default_version_comparator(newer).build())
}

/// A version as the manifest of the program has it.
type Version = semver::Version;

/// Never back, and never to one below the floor.
fn rises(running: &Version, floor: Option<&Version>, offered: &Version) -> bool {
    offered > running && floor.is_none_or(|floor| offered >= floor)
}

/// Asks for a newer version. None where there is none.
pub(crate) async fn look(app: &AppHandle) -> Result<Option<Update>, Failure> {
    let Some(place) = given(PLACE).filter(|_| on()) else {
        return Err(Failure::not_permitted("This build has no key to check a new version with, so none is asked for."));
    };
    let place = place.parse().map_err(|_| Failure::internal("the place of updates is no address"))?;
    let builder = app.updater_builder().endpoints(vec![place]).map_err(failed)?;
    builder.timeout(ANSWER).build().map_err(failed)?.check().await.map_err(failed)
}

/// Fetches the newer version, checks its signature and puts it in the place of this one.
pub(crate) async fn install(app: &AppHandle) -> Result<String, Failure> {
    let Some(update) = look(app).await? else {
        return Err(Failure::conflict("There is no newer version any more."));
    };
    update.download_and_install(|_, _| {}, || {}).await.map_err(failed)?;
    Ok(update.version)
}

fn failed(why: tauri_plugin_updater::Error) -> Failure {
    Failure::new(Code::Internal, format!("No update: {why}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().expect("a version")
    }

    #[test]
    fn r40_a_version_only_rises_and_not_to_one_below_the_floor() {
        let (running, floor) = (version("1.4.0"), version("1.6.0"));
        let allowed = |text: &str, floor| rises(&running, floor, &version(text));
        assert!(allowed("1.4.1", None) && allowed("2.0.0", None));
        for back in ["1.4.0", "1.3.9", "0.9.0", "1.4.0-rc.1", "1.4.0-beta"] {
            assert!(!allowed(back, None), "{back}");
        }
        assert!(!allowed("1.5.9", Some(&floor)) && !allowed("1.6.0-rc.1", Some(&floor)));
        assert!(allowed("1.6.0", Some(&floor)) && allowed("1.7.0", Some(&floor)));
    }

    #[test]
    fn r40_a_build_without_a_key_has_nothing_that_could_ask() {
        assert!(!on() && plugin().is_none(), "this test's build has none");
    }
}
