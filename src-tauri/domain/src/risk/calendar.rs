//! Calendar parts: what they invite to, and whether the part's type and its content name the same method. Where they do not,
//! mail programs show no buttons (F37; RFC 6047, 2.4).

use super::{Finding, Weight};
use crate::email::{EmailAttachment, EmailView};
use icalendar::parser::{Component, Property, read_calendar_simple, unfold};

/// Longest text of a calendar that is shown, in characters.
const SHOWN: usize = 200;

pub(super) fn findings(email: &EmailView) -> Vec<Finding> {
    email
        .attachments
        .iter()
        .enumerate()
        .filter(|(_, file)| is_calendar(file))
        .flat_map(|(i, file)| of(i, file))
        .collect()
}

fn is_calendar(file: &EmailAttachment) -> bool {
    let kind = file.content_type.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("text/calendar")
        || kind.eq_ignore_ascii_case("application/ics")
        || file.filename.to_ascii_lowercase().ends_with(".ics")
}

fn of(i: usize, file: &EmailAttachment) -> Vec<Finding> {
    let at = format!("attachments[{i}]");
    let unreadable = || {
        let text = "Not a calendar that can be read: mail programs will show a file and no invitation.";
        vec![Finding::new("calendar_unreadable", &at, Weight::Look, text).holding()]
    };
    let Ok(text) = std::str::from_utf8(&file.content.bytes) else { return unreadable() };
    let unfolded = unfold(text.strip_prefix('\u{feff}').unwrap_or(text));
    let Ok(parsed) = read_calendar_simple(&unfolded) else { return unreadable() };
    let calendars: Vec<&Component<'_>> = parsed.iter().filter(|c| named(c.name.as_str(), "VCALENDAR")).collect();
    let [calendar] = calendars.as_slice() else { return unreadable() };

    let inside = value(calendar, "METHOD").map(str::trim).filter(|m| !m.is_empty());
    let outside = parameter(&file.content_type, "method");
    let mut all = Vec::new();
    let same = match (inside, outside) {
        (None, None) => true,
        (Some(inside), Some(outside)) => inside.eq_ignore_ascii_case(outside),
        (Some(_), None) | (None, Some(_)) => false,
    };
    if !same {
        let text = format!(
            "Calendar method differs: the part’s type says {}, the calendar in it says {}. Mail programs then show no \
             buttons.",
            outside.map_or("none".into(), shown),
            inside.map_or("none".into(), shown)
        );
        all.push(Finding::new("calendar_method_differs", &at, Weight::Look, text).holding());
    }
    let events = calendar.components.iter().filter(|c| ["VEVENT", "VTODO"].iter().any(|n| named(c.name.as_str(), n)));
    all.extend(events.map(|event| Finding::new("invitation", &at, Weight::Note, facts(event, inside))));
    all
}

fn facts(event: &Component<'_>, method: Option<&str>) -> String {
    let what = match method.map(str::to_ascii_uppercase).as_deref() {
        Some("REQUEST") => "Invitation".to_owned(),
        Some("CANCEL") => "Cancellation".to_owned(),
        Some("REPLY") => "Answer to an invitation".to_owned(),
        Some(other) => format!("Calendar entry ({})", shown(other)),
        None => "Calendar entry".to_owned(),
    };
    let mut text = format!("{what}: {}", value(event, "SUMMARY").map_or("without a title".into(), plain));
    for (name, says) in [("DTSTART", "starts"), ("DTEND", "ends"), ("DUE", "due")] {
        if let Some(time) = property(event, name) {
            text.push_str(&format!(", {says} {}", moment(time)));
        }
    }
    if let Some(place) = value(event, "LOCATION").filter(|place| !place.trim().is_empty()) {
        text.push_str(&format!(", at {}", plain(place)));
    }
    if let Some(rule) = value(event, "RRULE") {
        text.push_str(&format!(", repeated ({})", shown(rule)));
    }
    text.push('.');
    text
}

/// `20270328T103000Z`, with a zone's name as a parameter, or a day: as people read it. Another form is shown as it is.
fn moment(time: &Property<'_>) -> String {
    let text = time.val.as_str().trim();
    let zone = time.params.iter().find(|p| named(p.key.as_str(), "TZID")).and_then(|p| p.val.as_ref());
    let digits = |part: &str, n: usize| part.len() == n && part.bytes().all(|b| b.is_ascii_digit());
    let day = |d: &str| format!("{}-{}-{}", &d[..4], &d[4..6], &d[6..8]);
    let (moment, utc) = text.strip_suffix('Z').map_or((text, false), |front| (front, true));
    match moment.split_once('T') {
        Some((d, t)) if digits(d, 8) && digits(t, 6) => {
            let place = match (utc, zone) {
                (true, _) => " UTC".to_owned(),
                (false, Some(zone)) => format!(" ({})", shown(zone.as_str())),
                (false, None) => " by the reader’s own clock".to_owned(),
            };
            format!("{} {}:{}{place}", day(d), &t[..2], &t[2..4])
        }
        None if digits(moment, 8) => day(moment),
        _ => shown(text),
    }
}

fn property<'c, 'p>(component: &'c Component<'p>, name: &str) -> Option<&'c Property<'p>> {
    component.properties.iter().find(|p| named(p.name.as_str(), name))
}

fn value<'c>(component: &'c Component<'_>, name: &str) -> Option<&'c str> {
    property(component, name).map(|p| p.val.as_str())
}

/// Names are compared without case (RFC 5545, 2).
fn named(name: &str, wanted: &str) -> bool {
    name.eq_ignore_ascii_case(wanted)
}

/// A parameter of a content type. The payload's check has made sure of its form.
fn parameter<'t>(content_type: &'t str, name: &str) -> Option<&'t str> {
    let value = content_type.split(';').skip(1).filter_map(|p| p.split_once('='));
    let value = value.filter(|(key, _)| key.trim().eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()?;
    Some(value.strip_prefix('"').and_then(|v| v.strip_suffix('"')).unwrap_or(value))
}

/// A text value without its escapes (RFC 5545, 3.3.11).
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n' | 'N') | None => out.push(' '),
                Some(other) => out.push(other),
            },
            (c, false) => out.push(c),
        }
    }
    shown(&out)
}

/// As it may stand in a sentence of ours: short, and without characters that turn or hide what follows.
fn shown(text: &str) -> String {
    let unseen = |c: &char| {
        c.is_control()
            || matches!(c, '\u{00AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
    };
    text.chars().filter(|c| !unseen(c)).take(SHOWN).collect::<String>().trim().to_owned()
}
