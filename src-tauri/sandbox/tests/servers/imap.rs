use countersign_sandbox::{Config, FolderSetup, ImapFeatures, Point, Sandbox};

use crate::peer::{MESSAGE, PLAIN, Peer, SUPPORT, Tried, reading, sandbox};

/// The line among these that starts like this.
fn line<'a>(lines: &'a [String], start: &str) -> &'a str {
    lines.iter().find(|line| line.starts_with(start)).map_or("", String::as_str)
}

#[tokio::test]
async fn both_ways_to_log_in_work_and_wrong_passwords_do_not() -> Tried {
    let sandbox = sandbox().await?;
    let mut peer = Peer::connect(sandbox.imap_addr()).await?;
    peer.line().await;
    assert_eq!(line(&peer.imap("SELECT INBOX").await, "t "), "t BAD log in first");
    assert!(
        line(&peer.imap("LOGIN support@shop.example wrong").await, "t ").starts_with("t NO [AUTHENTICATIONFAILED]")
    );
    assert!(line(&peer.imap(&format!("AUTHENTICATE PLAIN {PLAIN}")).await, "t ").starts_with("t OK "));
    let mut peer = Peer::connect(sandbox.imap_addr()).await?;
    peer.line().await;
    assert_eq!(peer.imap("AUTHENTICATE PLAIN").await, ["+ "]);
    peer.write(&format!("{PLAIN}\r\n")).await?;
    assert!(line(&peer.tagged().await, "t ").starts_with("t OK "));
    // A user name as a literal, which needs a go-ahead.
    let mut peer = Peer::connect(sandbox.imap_addr()).await?;
    peer.line().await;
    assert_eq!(peer.imap("LOGIN {20}").await, ["+ go ahead"]);
    peer.write("support@shop.example \"open \\\"sesame\\\"\"\r\n").await?;
    assert!(line(&peer.tagged().await, "t ").starts_with("t OK "));
    let log = format!("{:?}", sandbox.said());
    assert!(!log.contains("sesame") && !log.contains(PLAIN));
    Ok(())
}

#[tokio::test]
async fn folders_show_their_special_use() -> Tried {
    let folders = vec![FolderSetup::special("Gesendete Elemente", "\\Sent")];
    let config = Config { folders, ..Config::in_memory(&[(SUPPORT, crate::peer::PASSWORD)]) };
    let sandbox = Sandbox::start(config).await?;
    let mut peer = reading(&sandbox).await?;
    let sent = "* LIST (\\HasNoChildren \\Sent) \"/\" \"Gesendete Elemente\"";
    let lines = peer.imap("LIST \"\" \"*\"").await;
    assert_eq!(lines, [sent, "* LIST (\\HasNoChildren) \"/\" \"INBOX\"", "t OK listed"]);
    assert_eq!(peer.imap("LIST (SPECIAL-USE) \"\" *").await, [sent, "t OK listed"]);
    assert_eq!(peer.imap("LIST \"\" % RETURN (SPECIAL-USE)").await.len(), 3);
    assert_eq!(peer.imap("LIST \"\" \"\"").await[0], "* LIST (\\Noselect) \"/\" \"\"");
    sandbox.set_imap(ImapFeatures { special_use: false, ..ImapFeatures::default() });
    let mut peer = reading(&sandbox).await?;
    assert!(peer.imap("LIST \"\" \"*\"").await.iter().all(|line| !line.contains("\\Sent")));
    assert_eq!(line(&peer.imap("SELECT Sent").await, "t "), "t NO [NONEXISTENT] no such folder");
    assert_eq!(line(&peer.imap("CREATE Sent").await, "t "), "t OK created");
    assert_eq!(
        line(&peer.imap("STATUS Sent (MESSAGES UIDNEXT)").await, "* "),
        "* STATUS \"Sent\" (MESSAGES 0 UIDNEXT 1)"
    );
    Ok(())
}

#[tokio::test]
async fn an_appended_message_is_found_and_comes_back_byte_for_byte() -> Tried {
    let sandbox = sandbox().await?;
    let mut peer = reading(&sandbox).await?;
    assert_eq!(peer.imap(&format!("APPEND \"Sent\" (\\Seen) {{{}}}", MESSAGE.len())).await, ["+ go ahead"]);
    peer.write(&format!("{MESSAGE}\r\n")).await?;
    let answer = peer.tagged().await;
    let validity = sandbox_validity(&mut peer, "Sent").await;
    assert_eq!(line(&answer, "t "), format!("t OK [APPENDUID {validity} 1] appended"));
    // LITERAL+ with a date, to another UID.
    peer.write(&format!(
        "t APPEND Sent (\\Seen) \"02-Nov-2026 09:15:00 +0000\" {{{}+}}\r\n{MESSAGE}\r\n",
        MESSAGE.len()
    ))
    .await?;
    assert_eq!(line(&peer.tagged().await, "t "), format!("t OK [APPENDUID {validity} 2] appended"));
    let lines = peer.imap("EXAMINE Sent").await;
    assert_eq!(line(&lines, "* 2 EXISTS"), "* 2 EXISTS");
    assert_eq!(line(&lines, "* OK [UIDNEXT"), "* OK [UIDNEXT 3] next");
    assert!(line(&lines, "* OK [HIGHESTMODSEQ").ends_with("3] highest"));
    assert_eq!(line(&lines, "t "), "t OK [READ-ONLY] selected");
    assert_eq!(peer.imap("UID SEARCH HEADER Message-ID \"<ACT-1@shop\"").await[0], "* SEARCH 1 2");
    assert_eq!(peer.imap("UID SEARCH UID 2:* HEADER X-Countersign-Key key-1").await[0], "* SEARCH 2");
    assert_eq!(peer.imap("UID SEARCH UID 9:* ALL").await[0], "* SEARCH 2", "n:* holds the last");
    assert_eq!(peer.imap("UID SEARCH HEADER Message-ID \"<act-2\"").await[0], "* SEARCH");
    assert_eq!(peer.imap("UID SEARCH ON 2-Nov-2026").await[0], "* SEARCH 2");
    assert_eq!(peer.imap("SEARCH SUBJECT slot FROM support NOT TEXT elsewhere").await[0], "* SEARCH 1 2");
    assert!(peer.imap("UID SEARCH FROM").await[0].starts_with("t BAD "));
    assert!(peer.imap("UID SEARCH CHARSET LATIN1 ALL").await[0].starts_with("t NO [BADCHARSET"));

    peer.write("t UID FETCH 1 (FLAGS INTERNALDATE RFC822.SIZE BODY.PEEK[])\r\n").await?;
    let head = peer.line().await.ok_or("gone")?;
    assert!(head.starts_with("* 1 FETCH (UID 1 FLAGS (\\Seen) INTERNALDATE \""), "{head}");
    assert!(head.ends_with(&format!("RFC822.SIZE {0} BODY[] {{{0}}}", MESSAGE.len())), "{head}");
    assert_eq!(String::from_utf8_lossy(&peer.exact(MESSAGE.len()).await?), MESSAGE);
    assert_eq!(peer.tagged().await, [")", "t OK fetched"]);
    let fields = peer.imap("FETCH 2 BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)]").await;
    assert_eq!(fields[0], "* 2 FETCH (BODY[HEADER.FIELDS (MESSAGE-ID)] {36}");
    assert_eq!(fields[1], "Message-ID: <act-1@shop.example>");
    assert_eq!(sandbox.appends().len(), 2);
    Ok(())
}

async fn sandbox_validity(peer: &mut Peer, folder: &str) -> String {
    let lines = peer.imap(&format!("STATUS {folder} (UIDVALIDITY)")).await;
    let line = line(&lines, "* STATUS").to_owned();
    line.trim_end_matches(')').rsplit(' ').next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn reading_marks_nothing_unless_asked_to() -> Tried {
    let sandbox = sandbox().await?;
    sandbox.deliver(SUPPORT, MESSAGE.as_bytes());
    let mut peer = reading(&sandbox).await?;
    peer.imap("EXAMINE INBOX").await;
    peer.imap("UID FETCH 1 BODY[]").await;
    peer.imap("SELECT INBOX").await;
    peer.imap("UID FETCH 1 BODY.PEEK[]").await;
    assert_eq!(peer.imap("FETCH 1 FLAGS").await[0], "* 1 FETCH (FLAGS ())");
    peer.imap("FETCH 1 BODY[TEXT]").await;
    assert_eq!(peer.imap("FETCH 1 FLAGS").await[0], "* 1 FETCH (FLAGS (\\Seen))");
    assert_eq!(peer.imap("UID SEARCH UNSEEN").await[0], "* SEARCH");
    Ok(())
}

#[tokio::test]
async fn idle_and_noop_tell_of_new_mail() -> Tried {
    let sandbox = sandbox().await?;
    let mut peer = reading(&sandbox).await?;
    peer.imap("SELECT INBOX").await;
    assert_eq!(peer.imap("IDLE").await, ["+ idling"]);
    sandbox.wait_for(Point::Idling, 1).await?;
    sandbox.deliver(SUPPORT, MESSAGE.as_bytes());
    assert_eq!(peer.line().await.as_deref(), Some("* 1 EXISTS"));
    peer.write("DONE\r\n").await?;
    assert_eq!(peer.tagged().await, ["t OK done"]);
    sandbox.deliver(SUPPORT, MESSAGE.as_bytes());
    assert_eq!(peer.imap("NOOP").await, ["* 2 EXISTS", "t OK done"]);
    sandbox.remove(SUPPORT, "INBOX", "Message-ID", "<act-1@shop.example>");
    assert_eq!(peer.imap("NOOP").await, ["* 2 EXPUNGE", "* 1 EXPUNGE", "t OK done"]);
    assert_eq!(line(&peer.imap("LOGOUT").await, "* BYE"), "* BYE bye");
    Ok(())
}

#[tokio::test]
async fn a_rebuilt_folder_has_a_new_validity() -> Tried {
    let sandbox = sandbox().await?;
    let mut peer = reading(&sandbox).await?;
    let before = sandbox_validity(&mut peer, "INBOX").await;
    sandbox.rebuild_folder(SUPPORT, "inbox");
    assert_ne!(sandbox_validity(&mut peer, "INBOX").await, before);
    Ok(())
}

#[tokio::test]
async fn wrong_commands_are_bad_and_do_no_harm() -> Tried {
    let sandbox = sandbox().await?;
    let mut peer = reading(&sandbox).await?;
    for wrong in [
        "STORE 1 +FLAGS (\\Seen)",
        "DELETE Sent",
        "SELECT",
        "UID FETCH x FLAGS",
        "FETCH 1",
        "APPEND Sent hello",
        "NONSENSE",
    ] {
        assert!(line(&peer.imap(wrong).await, "t ").starts_with("t BAD "), "{wrong}");
    }
    assert!(line(&peer.imap("UID SEARCH ALL").await, "t ").starts_with("t BAD no folder"));
    peer.write("t NOOP\n").await?;
    assert_eq!(peer.line().await.as_deref(), Some("* BAD bare LF"));
    sandbox.set_imap(ImapFeatures { literal_plus: false, ..ImapFeatures::default() });
    let mut peer = reading(&sandbox).await?;
    assert_eq!(peer.imap("APPEND Sent {4+}").await, ["t BAD LITERAL+ is not offered"]);
    assert_eq!(peer.line().await, None);
    assert!(sandbox.appends().is_empty());
    Ok(())
}
