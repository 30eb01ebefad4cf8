use countersign_sandbox::{Habits, Point, Protocol, SmtpFeatures};

use crate::peer::{MESSAGE, PLAIN, Peer, SUPPORT, Tried, sandbox, stuffed, submitting, with_recipient};

/// What lies in the mailbox without the trace fields a relay puts on top.
fn below_trace(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).into_owned();
    text.find("From: support@").map_or(String::new(), |at| text[at..].to_owned())
}

#[tokio::test]
async fn a_message_by_data_is_one_effect_with_exact_bytes() -> Tried {
    let sandbox = sandbox().await?;
    let mut peer = with_recipient(&sandbox).await?;
    assert_eq!(peer.smtp("DATA").await, 354);
    peer.write(&stuffed(MESSAGE)).await?;
    let reply = peer.reply().await.ok_or("no reply")?;
    assert_eq!(reply.0, 250);
    assert!(reply.1[0].starts_with("2.0.0 ok: queued as "), "{reply:?}");
    let effects = sandbox.effects();
    assert_eq!(effects.len(), 1);
    assert_eq!(String::from_utf8_lossy(&effects[0].bytes), MESSAGE);
    assert_eq!(effects[0].envelope.mail_from, SUPPORT);
    assert_eq!(effects[0].envelope.rcpt_to, ["robin@customer.example"]);
    assert!(reply.1[0].ends_with(&effects[0].queue_id));
    let inbox = sandbox.mailbox("Robin@Customer.example", "inbox");
    assert_eq!(inbox.len(), 1);
    assert_eq!(below_trace(&inbox[0].bytes), MESSAGE);
    assert_eq!(sandbox.mailbox(SUPPORT, "Sent").len(), 0);
    assert_eq!(sandbox.effects_with_header("X-Countersign-Key", "key-1").len(), 1);
    assert_eq!(sandbox.effects_with_header("X-Countersign-Key", "key").len(), 0);
    Ok(())
}

#[tokio::test]
async fn a_message_by_bdat_is_taken_at_its_last_chunk_only() -> Tried {
    let sandbox = sandbox().await?;
    let mut peer = with_recipient(&sandbox).await?;
    let (first, second) = MESSAGE.split_at(70);
    peer.write(&format!("BDAT {}\r\n{first}", first.len())).await?;
    assert_eq!(peer.code().await, 250);
    peer.write(&format!("BDAT {}\r\n{second}", second.len())).await?;
    assert_eq!(peer.code().await, 250);
    sandbox.wait_for(Point::BodyReceived, 2).await?;
    assert_eq!(sandbox.effects().len(), 0);
    assert_eq!(peer.smtp("BDAT 0 LAST").await, 250);
    let effects = sandbox.effects();
    assert_eq!(effects.len(), 1);
    assert_eq!(String::from_utf8_lossy(&effects[0].bytes), MESSAGE);
    assert!(effects[0].envelope.chunked);
    // The transaction is over: another LAST belongs to nothing.
    assert_eq!(peer.smtp("BDAT 0 LAST").await, 503);
    assert_eq!(sandbox.effects().len(), 1);
    Ok(())
}

#[tokio::test]
async fn the_announcement_follows_the_features_and_so_do_the_refusals() -> Tried {
    let sandbox = sandbox().await?;
    let mut peer = Peer::connect(sandbox.smtp_addr()).await?;
    assert_eq!(peer.code().await, 220);
    peer.write("EHLO x\r\n").await?;
    let (_, lines) = peer.reply().await.ok_or("no reply")?;
    let all = ["SIZE 26214400", "AUTH PLAIN LOGIN", "ENHANCEDSTATUSCODES", "8BITMIME", "DSN", "SMTPUTF8", "CHUNKING"];
    assert_eq!(lines[1..], all);

    let bare = SmtpFeatures {
        size: None,
        eight_bit_mime: false,
        smtputf8: false,
        chunking: false,
        dsn: false,
        enhanced_status_codes: false,
        pipelining: false,
        auth_plain: true,
        auth_login: false,
    };
    sandbox.set_smtp(bare);
    let mut peer = Peer::connect(sandbox.smtp_addr()).await?;
    assert_eq!(peer.code().await, 220);
    peer.write("EHLO x\r\n").await?;
    assert_eq!(peer.reply().await.map(|(_, lines)| lines[1..].to_vec()), Some(vec!["AUTH PLAIN".to_owned()]));
    assert_eq!(peer.smtp("AUTH LOGIN").await, 504);
    assert_eq!(peer.smtp(&format!("AUTH PLAIN {PLAIN}")).await, 235);
    for refused in ["SIZE=10", "BODY=8BITMIME", "SMTPUTF8", "ENVID=x", "RET=HDRS"] {
        assert_eq!(peer.smtp(&format!("MAIL FROM:<support@shop.example> {refused}")).await, 555, "{refused}");
    }
    assert_eq!(peer.smtp("MAIL FROM:<support@shop.example>").await, 250);
    assert_eq!(peer.smtp("RCPT TO:<a@b.example> NOTIFY=SUCCESS").await, 555);
    assert_eq!(peer.smtp("RCPT TO:<ü@b.example>").await, 553);
    assert_eq!(peer.smtp("RCPT TO:<a@b.example>").await, 250);
    peer.write("BDAT 4 LAST\r\nA: b").await?;
    assert_eq!(peer.code().await, 502);
    assert_eq!(sandbox.effects().len(), 0);
    Ok(())
}

#[tokio::test]
async fn logins_are_checked_and_no_password_is_in_the_log() -> Tried {
    let sandbox = sandbox().await?;
    let mut peer = Peer::connect(sandbox.smtp_addr()).await?;
    assert_eq!(peer.code().await, 220);
    assert_eq!(peer.smtp("MAIL FROM:<a@b.example>").await, 503);
    assert_eq!(peer.smtp("EHLO x").await, 250);
    assert_eq!(peer.smtp("MAIL FROM:<a@b.example>").await, 530);
    assert_eq!(peer.smtp("AUTH PLAIN AHN1cHBvcnRAc2hvcC5leGFtcGxlAHdyb25n").await, 535);
    assert_eq!(peer.smtp("AUTH PLAIN").await, 334);
    assert_eq!(peer.smtp("*").await, 501);
    // RFC 4954: LOGIN asks for the two in turn.
    assert_eq!(peer.smtp("AUTH LOGIN").await, 334);
    assert_eq!(peer.smtp("c3VwcG9ydEBzaG9wLmV4YW1wbGU=").await, 334);
    assert_eq!(peer.smtp("b3BlbiAic2VzYW1lIg==").await, 235);
    assert_eq!(peer.smtp(&format!("AUTH PLAIN {PLAIN}")).await, 503);
    let log = format!("{:?}", sandbox.said());
    for secret in ["wrong", "sesame", PLAIN, "b3BlbiAic2VzYW1lIg==", "AHN1cHBvcnRAc2hvcC5leGFtcGxlAHdyb25n"] {
        assert!(!log.contains(secret), "{secret}");
    }
    Ok(())
}

#[tokio::test]
async fn bare_line_ends_are_refused_and_end_no_message() -> Tried {
    let sandbox = sandbox().await?;
    let mut peer = with_recipient(&sandbox).await?;
    assert_eq!(peer.smtp("DATA").await, 354);
    // A dot after a bare LF is how one message is smuggled inside another.
    peer.write("A: b\r\n\r\ntext\n.\r\nMAIL FROM:<evil@x.example>\r\n.\r\n").await?;
    assert_eq!(peer.code().await, 554);
    assert_eq!(sandbox.effects().len(), 0);
    peer.write("NOOP\n").await?;
    assert_eq!(peer.code().await, 500);
    peer.write("NO\rOP\r\n").await?;
    assert_eq!(peer.code().await, 500);

    let mut peer = with_recipient(&sandbox).await?;
    peer.write("BDAT 10 LAST\r\nA: b\n\nc\r\n.").await?;
    assert_eq!(peer.code().await, 554);
    assert_eq!(sandbox.effects().len(), 0);
    Ok(())
}

#[tokio::test]
async fn messages_that_other_servers_would_change_are_refused() -> Tried {
    let sandbox = sandbox().await?;
    let long = format!("A: b\r\n\r\n{}\r\n", "x".repeat(999));
    for (message, code) in [("A: b\r\n\r\nsechs übers Eck\r\n", 554), ("A: ü\r\n\r\ntext\r\n", 554), (&long, 554)] {
        let mut peer = with_recipient(&sandbox).await?;
        assert_eq!(peer.smtp("DATA").await, 354);
        peer.write(&stuffed(message)).await?;
        assert_eq!(peer.code().await, code, "{message}");
    }
    let mut peer = submitting(&sandbox).await?;
    assert_eq!(peer.smtp("MAIL FROM:<support@shop.example> SIZE=26214401").await, 552);
    assert_eq!(peer.smtp("MAIL FROM:<support@shop.example> BODY=8BITMIME SIZE=26214400").await, 250);
    assert_eq!(peer.smtp("RCPT TO:<robin@customer.example>").await, 250);
    assert_eq!(peer.smtp("DATA").await, 354);
    peer.write(&stuffed("A: b\r\n\r\nsechs übers Eck\r\n")).await?;
    assert_eq!(peer.code().await, 250);
    assert_eq!(sandbox.effects().len(), 1);
    Ok(())
}

#[tokio::test]
async fn commands_keep_their_order() -> Tried {
    let sandbox = sandbox().await?;
    let mut peer = submitting(&sandbox).await?;
    assert_eq!(peer.smtp("RCPT TO:<a@b.example>").await, 503);
    assert_eq!(peer.smtp("DATA").await, 503);
    assert_eq!(peer.smtp("MAIL FROM:<support@shop.example>").await, 250);
    assert_eq!(peer.smtp("MAIL FROM:<support@shop.example>").await, 503);
    assert_eq!(peer.smtp("DATA").await, 554);
    assert_eq!(peer.smtp("RCPT TO:<a@b.example>").await, 250);
    peer.write("BDAT 4\r\nA: b").await?;
    assert_eq!(peer.code().await, 250);
    assert_eq!(peer.smtp("DATA").await, 503);
    assert_eq!(peer.smtp("RSET").await, 250);
    assert_eq!(peer.smtp("RCPT TO:<a@b.example>").await, 503);
    assert_eq!(peer.smtp("STARTTLS").await, 502);
    assert_eq!(peer.smtp("QUIT").await, 221);
    assert_eq!(peer.line().await, None);
    assert_eq!(sandbox.effects().len(), 0);
    Ok(())
}

#[tokio::test]
async fn who_does_not_wait_for_answers_is_thrown_out() -> Tried {
    let sandbox = sandbox().await?;
    let mut peer = submitting(&sandbox).await?;
    peer.write("MAIL FROM:<support@shop.example>\r\nRCPT TO:<a@b.example>\r\nDATA\r\n").await?;
    assert_eq!(peer.code().await, 503);
    assert_eq!(peer.line().await, None);

    sandbox.set_smtp(SmtpFeatures { pipelining: true, ..SmtpFeatures::default() });
    let mut peer = submitting(&sandbox).await?;
    peer.write("MAIL FROM:<support@shop.example>\r\nRCPT TO:<a@b.example>\r\nDATA\r\n").await?;
    assert_eq!([peer.code().await, peer.code().await, peer.code().await], [250, 250, 354]);
    Ok(())
}

#[tokio::test]
async fn a_cut_before_the_final_dot_leaves_nothing_and_one_after_it_leaves_the_message() -> Tried {
    let sandbox = sandbox().await?;
    let mut peer = with_recipient(&sandbox).await?;
    assert_eq!(peer.smtp("DATA").await, 354);
    peer.write(MESSAGE).await?;
    drop(peer);
    sandbox.wait_for(Point::Disconnected, 1).await?;
    assert_eq!(sandbox.effects().len(), 0);

    let mut peer = with_recipient(&sandbox).await?;
    assert_eq!(peer.smtp("DATA").await, 354);
    peer.write(&stuffed(MESSAGE)).await?;
    drop(peer);
    sandbox.wait_for(Point::Acted, 1).await?;
    assert_eq!(sandbox.effects().len(), 1);
    Ok(())
}

#[tokio::test]
async fn two_sends_of_the_same_bytes_are_two_effects() -> Tried {
    let sandbox = sandbox().await?;
    for _ in 0..2 {
        let mut peer = with_recipient(&sandbox).await?;
        assert_eq!(peer.smtp("DATA").await, 354);
        peer.write(&stuffed(MESSAGE)).await?;
        assert_eq!(peer.code().await, 250);
    }
    assert_eq!(sandbox.effects().len(), 2);
    assert_eq!(sandbox.mailbox("robin@customer.example", "INBOX").len(), 2);
    assert_eq!(sandbox.connections(Protocol::Smtp), 2);
    assert_eq!(sandbox.commands(Protocol::Smtp, "data").len(), 2);
    Ok(())
}

#[tokio::test]
async fn a_provider_with_habits_files_sent_replaces_the_id_and_reports() -> Tried {
    let sandbox = sandbox().await?;
    let habits = Habits { files_sent: true, replaces_message_id: true, sends_reports: true, ..Habits::default() };
    sandbox.set_habits(habits);
    let mut peer = submitting(&sandbox).await?;
    assert_eq!(peer.smtp("MAIL FROM:<support@shop.example> RET=HDRS ENVID=a+2Bb").await, 250);
    let rcpt = "RCPT TO:<robin@customer.example> NOTIFY=SUCCESS,FAILURE ORCPT=rfc822;robin@customer.example";
    assert_eq!(peer.smtp(rcpt).await, 250);
    assert_eq!(peer.smtp("RCPT TO:<quiet@customer.example> NOTIFY=NEVER").await, 250);
    assert_eq!(peer.smtp("RCPT TO:<c@customer.example> NOTIFY=NEVER,SUCCESS").await, 501);
    assert_eq!(peer.smtp("DATA").await, 354);
    peer.write(&stuffed(MESSAGE)).await?;
    assert_eq!(peer.code().await, 250);

    let effect = &sandbox.effects()[0];
    assert_eq!(effect.envelope.envid.as_deref(), Some("a+b"));
    assert_eq!(effect.header("message-id"), ["<act-1@shop.example>"], "the effect is what was submitted");
    let sent = sandbox.mailbox(SUPPORT, "Sent");
    assert_eq!(sent.len(), 1);
    let header = |name: &str| countersign_sandbox::header_values(&sent[0].bytes, name);
    assert_eq!(header("X-Microsoft-Original-Message-ID"), ["<act-1@shop.example>"]);
    assert_eq!(header("Message-ID"), ["<new-1@provider.example>"]);
    let reports = sandbox.mailbox(SUPPORT, "INBOX");
    assert_eq!(reports.len(), 1);
    let report = String::from_utf8_lossy(&reports[0].bytes).into_owned();
    for line in [
        "Original-Envelope-Id: a+b\r\n",
        "Action: relayed\r\n",
        "Original-Recipient: rfc822;robin@customer.example\r\n",
    ] {
        assert!(report.contains(line), "{report}");
    }
    Ok(())
}
