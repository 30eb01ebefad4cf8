use countersign_sandbox::{Fault, Point, Protocol, Release, Sandbox, SmtpFeatures, Times};

use crate::peer::{MESSAGE, Peer, SUPPORT, Tried, reading, sandbox, stuffed, submitting, with_recipient};

/// Sends the message by DATA as far as the final dot.
async fn to_the_end(sandbox: &Sandbox) -> Result<Peer, Box<dyn std::error::Error>> {
    let mut peer = with_recipient(sandbox).await?;
    assert_eq!(peer.smtp("DATA").await, 354);
    peer.write(&stuffed(MESSAGE)).await?;
    Ok(peer)
}

#[tokio::test]
async fn f01_the_final_dot_is_never_answered_whether_the_message_was_taken_or_not() -> Tried {
    for (fault, effects) in [(Fault::hang_after_acting(), 1), (Fault::hang_before_acting(), 0)] {
        let sandbox = sandbox().await?;
        sandbox.fault_once(fault);
        let peer = to_the_end(&sandbox).await?;
        sandbox.wait_for(Point::Misbehaved, 1).await?;
        sandbox.wait_for(Point::CommitReceived, 1).await?;
        assert_eq!(sandbox.effects().len(), effects);
        assert_eq!(sandbox.count(Point::Answered), 0);
        drop(peer);
        sandbox.wait_for(Point::Disconnected, 1).await?;
        assert_eq!(sandbox.effects().len(), effects);
    }
    Ok(())
}

#[tokio::test]
async fn a_held_answer_comes_after_the_release() -> Tried {
    let sandbox = sandbox().await?;
    sandbox.fault_once(Fault::late_answer());
    let mut peer = to_the_end(&sandbox).await?;
    sandbox.wait_for(Point::Held, 1).await?;
    assert_eq!(sandbox.effects().len(), 1, "taken before the answer");
    assert_eq!(sandbox.count(Point::Answered), 0);
    sandbox.release(Release::Answers);
    assert_eq!(peer.code().await, 250);

    sandbox.fault_once(Fault::late_refusal(554));
    let mut peer = to_the_end(&sandbox).await?;
    sandbox.wait_for(Point::Held, 2).await?;
    sandbox.release(Release::All);
    assert_eq!(peer.code().await, 554);
    assert_eq!(sandbox.effects().len(), 1);
    Ok(())
}

#[tokio::test]
async fn every_fault_at_the_end_answers_and_acts_as_its_name_says() -> Tried {
    let cases = [
        (Fault::refused_at_end(550), Some("550 5.7.1 rejected by policy"), 0),
        (Fault::refused_at_end(451), Some("451 4.3.0 try again later"), 0),
        (Fault::refused_after_acting(451), Some("451 4.3.0 queue file write error"), 1),
        (Fault::closing_at_end(), Some("421 4.3.2 service closing"), 0),
        (Fault::reset_before_acting(), None, 0),
        (Fault::reset_after_acting(), None, 1),
        (Fault::close_after_acting(), None, 1),
        (Fault::nonsense_after_acting(), Some("HTTP/1.1 200 OK"), 1),
        (Fault::nonsense_before_acting(), Some("<html>Please sign in</html>"), 0),
        (Fault::two_replies(), Some("451 4.3.0 local error"), 1),
    ];
    for (fault, first_line, effects) in cases {
        let sandbox = sandbox().await?;
        sandbox.fault_once(fault.clone());
        let mut peer = to_the_end(&sandbox).await?;
        assert_eq!(peer.line().await.as_deref(), first_line, "{fault:?}");
        assert_eq!(sandbox.effects().len(), effects, "{fault:?}");
        if fault == Fault::two_replies() {
            assert_eq!(peer.code().await, 250);
        }
        // The script is empty again: the next message goes through.
        let mut peer = to_the_end(&sandbox).await?;
        assert_eq!(peer.code().await, 250, "{fault:?}");
    }
    Ok(())
}

#[tokio::test]
async fn faults_before_the_final_dot_never_leave_a_message() -> Tried {
    let sandbox = sandbox().await?;
    sandbox.fault_once(Fault::smtp_down());
    let mut peer = Peer::connect(sandbox.smtp_addr()).await?;
    assert_eq!(peer.line().await, None);
    sandbox.fault_once(Fault::greets_with(554));
    assert_eq!(Peer::connect(sandbox.smtp_addr()).await?.code().await, 554);
    for code in [535, 454] {
        sandbox.fault_once(Fault::smtp_login_refused(code));
        let mut peer = Peer::connect(sandbox.smtp_addr()).await?;
        assert_eq!((peer.code().await, peer.smtp("EHLO x").await), (220, 250));
        assert_eq!(peer.smtp(&format!("AUTH PLAIN {}", crate::peer::PLAIN)).await, code);
        assert_eq!(peer.smtp("MAIL FROM:<support@shop.example>").await, 530);
    }
    sandbox.fault_once(Fault::cut_before_mail());
    assert_eq!(submitting(&sandbox).await?.smtp("MAIL FROM:<support@shop.example>").await, 0);
    sandbox.fault_once(Fault::mail_refused(451));
    let mut peer = submitting(&sandbox).await?;
    assert_eq!(peer.smtp("MAIL FROM:<support@shop.example>").await, 451);
    assert_eq!(peer.smtp("RCPT TO:<a@b.example>").await, 503);
    for by in ["DATA", "BDAT 0"] {
        sandbox.fault_once(Fault::cut_after_rcpt());
        assert_eq!(with_recipient(&sandbox).await?.smtp(by).await, 0);
        sandbox.fault_once(Fault::data_refused(554));
        assert_eq!(with_recipient(&sandbox).await?.smtp(by).await, 554);
    }
    sandbox.fault_once(Fault::cut_in_body(40));
    assert_eq!(to_the_end(&sandbox).await?.line().await, None);
    assert_eq!(sandbox.effects().len(), 0);
    Ok(())
}

#[tokio::test]
async fn f08_one_recipient_is_refused_and_the_other_is_not() -> Tried {
    let sandbox = sandbox().await?;
    for code in [550, 450, 552] {
        sandbox.set_fault(Fault::rcpt_refused("gone@example.test", code), Times::Once);
        let mut peer = submitting(&sandbox).await?;
        assert_eq!(peer.smtp("MAIL FROM:<support@shop.example>").await, 250);
        assert_eq!(peer.smtp("RCPT TO:<ok@example.test>").await, 250);
        assert_eq!(peer.smtp("RCPT TO:<gone@example.test>").await, code);
        assert_eq!(peer.smtp("DATA").await, 354);
        peer.write(&stuffed(MESSAGE)).await?;
        assert_eq!(peer.code().await, 250);
    }
    assert!(sandbox.effects().iter().all(|effect| effect.envelope.rcpt_to == ["ok@example.test"]));
    assert_eq!(sandbox.mailbox("gone@example.test", "INBOX").len(), 0);
    Ok(())
}

#[tokio::test]
async fn f04_a_reply_nobody_asked_for_comes_in_the_middle_of_the_body() -> Tried {
    let sandbox = sandbox().await?;
    sandbox.fault_once(Fault::stray_reply_in_body(30, 451));
    let mut peer = with_recipient(&sandbox).await?;
    assert_eq!(peer.smtp("DATA").await, 354);
    let (first, rest) = MESSAGE.split_at(60);
    peer.write(first).await?;
    assert_eq!(peer.code().await, 451, "before the body is whole");
    peer.write(&format!("{}.\r\n", stuffed(rest).strip_suffix(".\r\n").unwrap_or_default())).await?;
    assert_eq!(peer.code().await, 250);
    assert_eq!(sandbox.effects().len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_slow_index_shows_the_message_after_the_release() -> Tried {
    let sandbox = sandbox().await?;
    sandbox.set_habits(countersign_sandbox::Habits { files_sent: true, ..Default::default() });
    sandbox.fault_once(Fault::slow_index("Sent"));
    let mut peer = to_the_end(&sandbox).await?;
    assert_eq!(peer.code().await, 250);
    let mut imap = reading(&sandbox).await?;
    imap.imap("SELECT Sent").await;
    assert_eq!(imap.imap("UID SEARCH ALL").await[0], "* SEARCH");
    sandbox.release(Release::Index);
    assert_eq!(imap.imap("UID SEARCH ALL").await, ["* 1 EXISTS", "* SEARCH 1", "t OK searched"]);
    Ok(())
}

#[tokio::test]
async fn f06_append_is_refused_or_stored_without_an_answer() -> Tried {
    let sandbox = sandbox().await?;
    sandbox.fault_once(Fault::append_refused());
    let mut peer = reading(&sandbox).await?;
    peer.write(&format!("t APPEND Sent {{{}+}}\r\n{MESSAGE}\r\n", MESSAGE.len())).await?;
    assert_eq!(peer.tagged().await, ["t NO [TRYCREATE] no such folder"]);
    assert_eq!(sandbox.appends().len(), 0);
    for fault in [Fault::append_hangs_after_acting(), Fault::append_resets_after_acting()] {
        sandbox.fault_once(fault);
        let mut peer = reading(&sandbox).await?;
        peer.write(&format!("t APPEND Sent {{{}+}}\r\n{MESSAGE}\r\n", MESSAGE.len())).await?;
        sandbox.wait_for(Point::Misbehaved, sandbox.appends().len() as u64).await?;
    }
    sandbox.wait_for(Point::Appended, 2).await?;
    assert_eq!(sandbox.mailbox(SUPPORT, "Sent").len(), 2);
    Ok(())
}

#[tokio::test]
async fn imap_can_be_down_or_refuse() -> Tried {
    let sandbox = sandbox().await?;
    sandbox.set_fault(Fault::imap_down(), Times::Always);
    for _ in 0..2 {
        assert_eq!(Peer::connect(sandbox.imap_addr()).await?.line().await, None);
    }
    sandbox.clear_faults();
    sandbox.fault_once(Fault::imap_login_refused());
    let mut peer = Peer::connect(sandbox.imap_addr()).await?;
    peer.line().await;
    let login = "LOGIN support@shop.example \"open \\\"sesame\\\"\"";
    assert_eq!(peer.imap(login).await, ["t NO [AUTHENTICATIONFAILED] Authentication failed."]);
    assert!(peer.imap(login).await[0].starts_with("t OK "));
    sandbox.fault_once(Fault::search_refused());
    peer.imap("SELECT INBOX").await;
    assert!(peer.imap("UID SEARCH ALL").await[0].starts_with("t NO [UNAVAILABLE]"));
    Ok(())
}

#[tokio::test]
async fn a_bounce_comes_after_the_250() -> Tried {
    let sandbox = sandbox().await?;
    sandbox.set_smtp(SmtpFeatures::default());
    sandbox.fault_once(Fault::bounce("robin@customer.example"));
    assert_eq!(to_the_end(&sandbox).await?.code().await, 250);
    assert_eq!(sandbox.effects().len(), 1);
    assert_eq!(sandbox.mailbox("robin@customer.example", "INBOX").len(), 0);
    let reports = sandbox.mailbox(SUPPORT, "INBOX");
    assert!(String::from_utf8_lossy(&reports[0].bytes).contains("Action: failed\r\n"));
    Ok(())
}

#[tokio::test]
async fn a_server_that_is_down_refuses_connections_and_comes_back_on_its_port() -> Tried {
    let sandbox = sandbox().await?;
    let mut before = with_recipient(&sandbox).await?;
    sandbox.go_down(Protocol::Smtp).await?;
    sandbox.go_down(Protocol::Smtp).await?;
    let refused = Peer::connect(sandbox.smtp_addr()).await.err().map(|error| error.kind());
    assert_eq!(refused, Some(std::io::ErrorKind::ConnectionRefused));
    assert_eq!(before.smtp("NOOP").await, 250, "who is in stays in");
    reading(&sandbox).await?;
    sandbox.come_back(Protocol::Smtp).await?;
    submitting(&sandbox).await?;
    Ok(())
}
