//! Attachments: changed since the draft, or able to run programs.

use super::{Finding, Known, Weight};
use crate::email::{EmailAttachment, EmailView};

/// Extensions that some system runs, installs or mounts when the file is opened.
const PROGRAMS: &[&str] = &[
    "ade",
    "adp",
    "apk",
    "app",
    "appimage",
    "appinstaller",
    "application",
    "appx",
    "appxbundle",
    "bash",
    "bat",
    "chm",
    "cmd",
    "com",
    "command",
    "cpl",
    "csh",
    "deb",
    "desktop",
    "diagcab",
    "dll",
    "dmg",
    "docm",
    "dotm",
    "elf",
    "exe",
    "flatpakref",
    "fish",
    "gadget",
    "hta",
    "img",
    "inf",
    "ins",
    "iso",
    "isp",
    "jar",
    "jnlp",
    "js",
    "jse",
    "ksh",
    "library-ms",
    "lnk",
    "mam",
    "mde",
    "mht",
    "mhtml",
    "mpkg",
    "msc",
    "msh",
    "msi",
    "msix",
    "msixbundle",
    "msp",
    "mst",
    "ocx",
    "one",
    "osascript",
    "pif",
    "pkg",
    "pl",
    "potm",
    "ppam",
    "ppsm",
    "pptm",
    "prg",
    "ps1",
    "ps1xml",
    "psc1",
    "psm1",
    "py",
    "pyc",
    "pyw",
    "pyz",
    "rb",
    "reg",
    "rpm",
    "run",
    "scf",
    "scpt",
    "scr",
    "sct",
    "search-ms",
    "settingcontent-ms",
    "sh",
    "shb",
    "sldm",
    "snap",
    "svg",
    "svgz",
    "sys",
    "terminal",
    "theme",
    "tool",
    "url",
    "vb",
    "vbe",
    "vbs",
    "vhd",
    "vhdx",
    "vxd",
    "workflow",
    "ws",
    "wsc",
    "wsf",
    "wsh",
    "xbap",
    "xlam",
    "xll",
    "xlsm",
    "xltm",
    "xpi",
    "zsh",
];

/// The extension as a computer reads it: the last one, without the characters that nobody sees and without the dots and
/// spaces at the end which some systems drop.
fn extension(filename: &str) -> Option<String> {
    let visible: String = filename
        .chars()
        .filter(|c| !matches!(c, '\u{00AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}'))
        .collect();
    // The full-width dot and its like are dots to some file dialogs.
    let visible = visible.replace(['．', '。', '․'], ".");
    let trimmed = visible.trim_end_matches(|c: char| c == '.' || c.is_whitespace());
    trimmed.rsplit_once('.').map(|(_, extension)| extension.trim().to_lowercase())
}

/// Why a file can run programs, or None. By its true extension, then by its first bytes, whatever it is called.
pub fn program_kind(filename: &str, bytes: &[u8]) -> Option<String> {
    if let Some(extension) = extension(filename).filter(|e| PROGRAMS.contains(&e.as_str())) {
        return Some(format!("its true type is .{extension}"));
    }
    let kind = match bytes {
        [b'M', b'Z', ..] => "a Windows program",
        [0x7f, b'E', b'L', b'F', ..] => "a Linux program",
        [0xfe, 0xed, 0xfa, 0xce | 0xcf, ..] | [0xce | 0xcf, 0xfa, 0xed, 0xfe, ..] => "a macOS program",
        [0x4c, 0, 0, 0, 1, 0x14, 2, 0, ..] => "a Windows shortcut",
        [b'#', b'!', ..] => "a script",
        _ => return None,
    };
    Some(format!("its content is {kind}"))
}

pub(super) fn findings(email: &EmailView, known: &Known) -> Vec<Finding> {
    let mut all = Vec::new();
    for (i, file) in email.attachments.iter().enumerate() {
        let EmailAttachment { filename, content, .. } = file;
        if let Some(why) = program_kind(filename, &content.bytes) {
            let text = format!("Can run programs: {why}.");
            all.push(Finding::new("can_run_programs", format!("attachments[{i}].filename"), Weight::Stop, text));
        }
        if !known.draft_attachments.contains(&content.sha256) {
            let text = format!(
                "Changed since the draft: this file ({} bytes, {}…) was not in it. Open it first.",
                content.bytes.len(),
                &content.sha256[..8]
            );
            all.push(Finding::new("attachment_changed", format!("attachments[{i}]"), Weight::Look, text).holding());
        }
    }
    all
}
