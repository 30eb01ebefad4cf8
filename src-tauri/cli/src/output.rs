//! What is printed: one JSON document, or the same for reading.

use countersign_domain::size::size_in_words;
use countersign_engine::failure::{Code, Failure};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};

/// How the answer is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    pub json: bool,
}

/// What a command ends with: the code is 0 unless the command says otherwise although it printed its answer.
pub type Ended = Result<u8, Failure>;

impl Output {
    /// Prints the answer of a command.
    pub fn answer<T: Serialize>(self, value: &T) -> Ended {
        self.answer_or(value, "Nothing.")
    }

    /// The same; where there is nothing in it to be read, `empty` says so to people and what to do.
    pub fn answer_or<T: Serialize>(self, value: &T, empty: &str) -> Ended {
        let mut value = serde_json::to_value(value).map_err(|e| Failure::internal(e.to_string()))?;
        hash_or_null(&mut value);
        if self.json {
            line(&value.to_string())?;
        } else {
            let mut text = String::new();
            readable(&mut text, &value, 0);
            let text = text.trim_end();
            line(if text.is_empty() { empty } else { text })?;
        }
        Ok(0)
    }

    /// Prints a text as it is (CSV), or as a JSON string where JSON was asked for.
    pub fn text(self, text: &str) -> Ended {
        line(text.trim_end_matches('\n'))?;
        Ok(0)
    }

    /// A line for people, left out where a document is wanted.
    pub fn say(self, text: &str) -> Result<(), Failure> {
        if self.json { Ok(()) } else { line(text) }
    }

    /// The first line of `serve`, which is a document either way.
    pub fn first(self, value: &Value) -> Result<(), Failure> {
        line(&value.to_string())
    }

    /// A line of its own, at once.
    pub fn event(self, value: &Value, text: &str) -> Result<(), Failure> {
        line(&if self.json { value.to_string() } else { text.to_owned() })
    }

    pub fn failure(self, failure: &Failure) -> u8 {
        let mut err = std::io::stderr().lock();
        // Nobody is left to tell when stderr itself is gone.
        let _ = if self.json {
            writeln!(err, "{}", json!({ "error": failure.doc() }))
        } else {
            writeln!(err, "{}", in_a_line(failure))
        };
        failure.code.exit()
    }
}

/// A failure for people. Most messages about a field begin with it, and then it is not said twice.
fn in_a_line(failure: &Failure) -> String {
    let named = |field: &&String| !failure.message.starts_with(field.as_str());
    let place = failure.field.as_ref().filter(named).map_or(String::new(), |field| format!(" ({field})"));
    format!("{}{place}: {}", failure.code.word().replace('_', " "), failure.message)
}

/// An action without its identity has no payload hash yet. The window's documents have an empty text there; outside programs
/// read null, as in the answer to a proposal.
fn hash_or_null(value: &mut Value) {
    match value {
        Value::Object(map) => {
            // A payload is shown as it is: a name in it is not ours.
            for (name, inner) in map.iter_mut().filter(|(name, _)| name.as_str() != "payload") {
                match inner {
                    Value::String(text) if name == "payload_hash" && text.is_empty() => *inner = Value::Null,
                    _ => hash_or_null(inner),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(hash_or_null),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Writes a line to stdout; a reader that has gone (`| head`) is no error.
fn line(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Code::Internal, format!("the answer could not be written: {}", e.kind())))
        }
        _ => Ok(()),
    }
}

/// Indented `name: value` lines. Control characters are shown, so that no text can steer the terminal.
fn readable(out: &mut String, value: &Value, depth: usize) {
    let pad = "  ".repeat(depth);
    match value {
        Value::Object(map) => {
            for (name, inner) in map {
                match inner {
                    Value::Null => {}
                    Value::Array(items) if items.is_empty() => {}
                    Value::Object(_) | Value::Array(_) => {
                        out.push_str(&format!("{pad}{}:\n", name.replace('_', " ")));
                        readable(out, inner, depth + 1);
                    }
                    plain => out.push_str(&format!("{pad}{}: {}\n", name.replace('_', " "), scalar(plain, depth))),
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                let mut inner = String::new();
                readable(&mut inner, item, depth + 1);
                let inner = inner.trim_start();
                out.push_str(&format!("{pad}- {inner}"));
                if !inner.ends_with('\n') {
                    out.push('\n');
                }
            }
        }
        plain => out.push_str(&format!("{pad}{}\n", scalar(plain, depth))),
    }
}

fn scalar(value: &Value, depth: usize) -> String {
    match value {
        Value::String(text) => {
            let newline = format!("\n{}", "  ".repeat(depth + 1));
            text.trim_end().lines().map(visible).collect::<Vec<_>>().join(&newline)
        }
        other => other.to_string(),
    }
}

/// Control and format characters as `⟨U+202E⟩`.
fn visible(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let hidden = c.is_control() || is_format(c);
            let shown = if hidden { format!("⟨U+{:04X}⟩", u32::from(c)) } else { c.to_string() };
            shown.chars().collect::<Vec<_>>()
        })
        .collect()
}

/// Direction marks, zero-width characters and the like, which `char::is_control` does not cover (F28).
fn is_format(c: char) -> bool {
    matches!(u32::from(c),
        0xAD | 0x61C | 0x180E | 0x200B..=0x200F | 0x202A..=0x202E | 0x2060..=0x206F | 0xFEFF | 0xFFF9..=0xFFFB | 0xE0000..=0xE007F)
}

/// A secret typed on the terminal, if there is one.
pub fn prompt(what: &str) -> Result<Option<String>, Failure> {
    if !std::io::stdin().is_terminal() {
        return Ok(None);
    }
    rpassword::prompt_password(format!("{what}: "))
        .map(Some)
        .map_err(|e| Failure::internal(format!("the terminal could not be read: {}", e.kind())))
}

/// The first line of a descriptor.
pub fn first_line(option: &str, fd: u32) -> Result<String, Failure> {
    let all = lines(option, fd)?;
    Ok(all.into_iter().next().unwrap_or_default())
}

/// The lines of a descriptor, of which the first one holds something.
pub fn lines(option: &str, fd: u32) -> Result<Vec<String>, Failure> {
    use std::io::Read;
    let bad = |e: std::io::Error| Failure::bad_input(option, format!("descriptor {fd} cannot be read: {}", e.kind()));
    let mut text = Vec::new();
    // A descriptor number becomes a file again by the system's own name for it.
    std::fs::File::open(format!("/dev/fd/{fd}")).and_then(|f| f.take(64 * 1024).read_to_end(&mut text)).map_err(bad)?;
    let first = text.split(|b| *b == b'\n' || *b == b'\r').next().unwrap_or_default();
    if first.is_empty() {
        return Err(Failure::bad_input(option, format!("descriptor {fd} gives an empty first line")));
    }
    let odd = |_| Failure::bad_input(option, "what the descriptor gives is not valid UTF-8");
    // Whatever follows a line nobody asks for is not looked at.
    let first = String::from_utf8(first.to_vec()).map_err(odd)?;
    let rest = String::from_utf8_lossy(&text).lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    Ok([first].into_iter().chain(rest).collect())
}

/// A document from a file or, for `-`, from stdin.
pub fn document(option: &str, path: &std::path::Path, most: usize) -> Result<Vec<u8>, Failure> {
    document_or(option, path, most, "")
}

/// The same. `advice`: the end of the sentence that says that it is too large.
pub fn document_or(option: &str, path: &std::path::Path, most: usize, advice: &str) -> Result<Vec<u8>, Failure> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let limit = most as u64 + 1;
    let read = if path.as_os_str() == "-" {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|f| f.take(limit).read_to_end(&mut bytes))
    };
    read.map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Failure::bad_input(option, format!("there is no file {}", path.display())),
        kind if path.as_os_str() == "-" => Failure::bad_input(option, format!("standard input cannot be read: {kind}")),
        kind => Failure::bad_input(option, format!("{} cannot be read: {kind}", path.display())),
    })?;
    if bytes.len() > most {
        let what =
            if path.as_os_str() == "-" { "what came on standard input".into() } else { path.display().to_string() };
        return Err(Failure::bad_input(
            option,
            format!("{what} is larger than {}{advice}", size_in_words(most as u64)),
        ));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r40_a_field_is_named_once() {
        use countersign_domain::json::FieldError;
        let refused = Failure::from(FieldError::new("subject", "is missing").within("payload"));
        assert_eq!(in_a_line(&refused), "bad input: payload.subject: is missing");
        let other = Failure::bad_input("file", "there is no file x");
        assert_eq!(in_a_line(&other), "bad input (file): there is no file x");
    }

    #[test]
    fn f28_no_text_can_steer_or_fool_the_terminal() {
        let mut out = String::new();
        readable(&mut out, &json!({ "who": "Ac\u{200b}me", "file": "invoice\u{202e}fdp.exe", "x": "\u{1b}[2J" }), 0);
        assert!(
            out.contains("Ac⟨U+200B⟩me") && out.contains("invoice⟨U+202E⟩fdp.exe") && out.contains("⟨U+001B⟩[2J"),
            "{out}"
        );
    }
}
