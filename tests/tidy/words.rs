//! Words that a folder must not hold.

use crate::{none, sources};

/// Where, what, except in these files, and why.
struct Ban {
    under: &'static str,
    words: &'static [&'static str],
    except: &'static [&'static str],
    why: &'static str,
}

const BANS: &[Ban] = &[
    Ban {
        under: "src-tauri/",
        words: &["SystemTime::now", "now_utc", "Utc::now", "Local::now"],
        // The sandbox is a destination: it has a clock of its own, as a real one has.
        except: &["src-tauri/engine/src/clock.rs", "src-tauri/sandbox/", "src-tauri/xtask/"],
        why: "one reader of the system time",
    },
    Ban {
        under: "src-tauri/ledger/src/",
        words: &[".begin(", ".begin_with(", "BEGIN"],
        except: &["src-tauri/ledger/src/tx.rs"],
        why: "one place opens transactions",
    },
    Ban {
        under: "src-tauri/engine/src/intake",
        words: &["Desk", "fn approve", ".approve("],
        except: &[],
        why: "a source cannot approve",
    },
    Ban {
        under: "src-tauri/cli/src/mcp",
        words: &["Desk", ".desk(", ".core(", "fn approve", ".approve("],
        except: &[],
        why: "an agent cannot approve",
    },
    Ban {
        under: "src-tauri/engine/src/",
        words: &["tauri::", "webview"],
        except: &[],
        why: "everything above the wire is tested without a window",
    },
    Ban {
        under: "src-tauri/cli/src/",
        words: &["tauri::", "webview"],
        except: &[],
        why: "the command line runs without WebKit",
    },
    Ban {
        under: "src-tauri/domain/src/",
        words: &["std::fs", "std::net", "std::env", "std::thread", "println!", "SystemTime", "Instant::now"],
        except: &[],
        why: "the rules are pure",
    },
    Ban {
        under: "src-tauri/connectors/src/",
        words: &["keyring", "sqlx", "retry("],
        except: &[],
        why: "a connector has no memory and no retry",
    },
    Ban {
        under: "src-tauri/connectors/src/providers/",
        words: &[".cross("],
        except: &[],
        why: "only the dispatcher crosses",
    },
    Ban { under: "src-tauri/src/", words: &["Ledger", "sqlx", "keyring"], except: &[], why: "the shell is thin" },
    Ban {
        under: "tests/",
        words: &["thread::sleep", "time::sleep"],
        // A measurement of a window that nobody touches has to leave it alone for a while.
        except: &["tests/testkit/wait.rs", "tests/tidy/", "tests/bench/window.rs"],
        why: "tests wait for signals, not for time",
    },
    Ban {
        under: "ui/src/",
        words: &["{@html", "innerHTML", "eval("],
        // Read there, never written: it makes the page of a frame in which nothing runs.
        except: &["ui/src/lib/inert.ts"],
        why: "a customer's text is never code",
    },
];

const NOWHERE: &[&str] =
    &["todo!", "unimplemented!", "FIXME", "XXX", "#[ignore", "it.skip", "test.skip", "describe.skip"];

#[test]
fn banned_words_are_where_they_belong_only() {
    let mut found = Vec::new();
    for ban in BANS {
        for source in sources(ban.under, &["rs", "ts", "svelte"]) {
            if ban.except.iter().any(|path| source.path.starts_with(path)) {
                continue;
            }
            for (number, line) in source.text.lines().enumerate().filter(|(_, line)| !is_comment(line)) {
                let words = ban.words.iter().filter(|word| line.contains(*word));
                found.extend(words.map(|word| format!("{}:{}: {word} ({})", source.path, number + 1, ban.why)));
            }
        }
    }
    none("banned words", found);
}

#[test]
fn nothing_is_left_unfinished_or_switched_off() {
    let mut found = Vec::new();
    for under in ["src-tauri/", "tests/", "ui/src/", "ui/tests/", "ui/e2e/"] {
        for source in sources(under, &["rs", "ts", "svelte", "mjs"]).filter(|s| s.path != "tests/tidy/words.rs") {
            for (number, line) in source.text.lines().enumerate() {
                found.extend(
                    NOWHERE
                        .iter()
                        .filter(|word| line.contains(**word))
                        .map(|word| format!("{}:{}: {word}", source.path, number + 1)),
                );
            }
        }
    }
    none("unfinished", found);
}

#[test]
fn no_place_of_this_machine_is_written_down() {
    let home = std::env::var("HOME").unwrap_or_default();
    let places: Vec<String> =
        [home, crate::ROOT.display().to_string()].into_iter().filter(|p| p.len() > 4).map(|p| p + "/").collect();
    let mut found = Vec::new();
    for source in crate::SOURCES.iter().filter(|s| !s.path.ends_with("package-lock.json") && s.path != "Cargo.lock") {
        for (number, line) in source.text.lines().enumerate() {
            // A web address may well have such a folder.
            let local = places.iter().any(|place| {
                line.match_indices(place.as_str())
                    .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || "/.-_".contains(c)))
            });
            if local {
                found.push(format!("{}:{}: {}", source.path, number + 1, line.trim()));
            }
        }
    }
    none("paths of one machine", found);
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}
