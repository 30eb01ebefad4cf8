//! What the mailbox destination asks its mailbox, and what it never does to it.

use std::time::Duration;

use countersign_connectors::{Connector, Filing, Parent, ProbeStatus, SetupCode, Situation};
use countersign_domain::{Outcome, Sighting, Strength};
use countersign_sandbox::{
    Fault, Habits, ImapFeatures, ImapStage, Misbehaviour, Point, Protocol, Release, SmtpFeatures, Times,
};

use crate::rig::{
    BRIEF, NOW, PARENT_BYTES, PATIENT, ROBIN, Rig, SUPPORT, Setup, Tried, conversation, doubt, message_in_thread,
};

const LONG_AFTER: Duration = Duration::from_secs(31);

#[tokio::test]
async fn the_bytes_at_the_destination_are_those_that_were_approved() -> Tried {
    for chunking in [true, false] {
        let rig = Rig::new(Setup { chunking, ..Setup::default() }).await?;
        let order = rig.order_with("bytes", &[ROBIN], "Dots:\n.\n..\n.x\n\nGrüße, 例子\n\n\n");
        let attempt = rig.attempt(&order, PATIENT).await;
        assert!(matches!(attempt.outcome, Outcome::Accepted(_)), "{:?}", attempt.outcome);
        let effects = rig.sandbox.effects();
        let (approved, arrived) = (order.wire().bytes(), &effects[0].bytes);
        assert!(approved.windows(arrived.len()).any(|window| window == arrived), "the wire holds them as they arrived");
        assert!(arrived.is_ascii());
        assert_eq!(effects[0].envelope.chunked, chunking);
        assert_eq!(effects[0].envelope.mail_from, SUPPORT);
        assert_eq!(effects[0].envelope.rcpt_to, [ROBIN]);
        assert_eq!(effects[0].header("X-Countersign-Key"), [order.idempotency_key().as_str()]);
        assert_eq!(effects[0].header("Message-ID"), [order.idempotency_key().message_id("shop.example")]);
        assert_eq!(effects[0].header("In-Reply-To"), ["<m1@customer.example>"]);
        assert_eq!(effects[0].header("References"), ["<m1@customer.example>"]);
        assert!(effects[0].envelope.envid.is_some(), "a report can be matched");
    }
    Ok(())
}

#[tokio::test]
async fn a_poised_connection_that_is_dropped_has_no_effect() -> Tried {
    for chunking in [true, false] {
        let rig = Rig::new(Setup { chunking, ..Setup::default() }).await?;
        let order = rig.order("dropped");
        drop(
            rig.connector
                .approach(&order, &rig.login, crate::rig::NOW)
                .await
                .map_err(|halted| format!("{halted:?}"))?,
        );
        rig.sandbox.wait_for(Point::Disconnected, 1).await?;
        assert_eq!(rig.effects(&order), 0);
    }
    Ok(())
}

#[tokio::test]
async fn a_laptop_that_slept_before_the_last_step_sends_nothing() -> Tried {
    let rig = Rig::new(Setup::default()).await?;
    let order = rig.order("slept");
    let poised =
        rig.connector.approach(&order, &rig.login, crate::rig::NOW).await.map_err(|halted| format!("{halted:?}"))?;
    let long_ago = countersign_connectors::BootTime::now().before(Duration::from_secs(6));
    let (outcome, _) = rig.judge(&order, poised.cross(long_ago, PATIENT).await).await;
    assert!(matches!(outcome, Outcome::NotSent(_)), "{outcome:?}");
    rig.sandbox.wait_for(Point::Disconnected, 1).await?;
    assert_eq!(rig.effects(&order), 0);
    Ok(())
}

#[tokio::test]
async fn a_slow_index_hides_the_proof_until_it_catches_up() -> Tried {
    let rig = Rig::new(Setup { files_sent: true, told: "true", ..Setup::default() }).await?;
    rig.sandbox.fault_once(Fault::slow_index("Sent"));
    rig.sandbox.fault_once(Fault::hang_after_acting());
    let order = rig.order("slow");
    let attempt = rig.attempt(&order, BRIEF).await;
    doubt(&attempt.outcome);
    let look = rig.connector.look(&order, &rig.login, &attempt.noted).await;
    assert!(matches!(look, Sighting::NotSeen { .. }), "{look:?}");
    rig.sandbox.release(Release::Index);
    let look = rig.connector.look(&order, &rig.login, &attempt.noted).await;
    assert!(matches!(&look, Sighting::Found(receipt) if receipt.strength == Strength::Proof), "{look:?}");
    Ok(())
}

#[tokio::test]
async fn a_message_id_that_only_contains_ours_is_no_proof() -> Tried {
    let rig = Rig::new(Setup { files_sent: true, told: "true", ..Setup::default() }).await?;
    let order = rig.order("substring");
    let ours = order.idempotency_key().message_id("shop.example");
    let longer = ours.replace("<", "<x");
    let with_longer_key = format!(
        "From: {SUPPORT}\r\nSubject: Re: Delivery slot\r\nMessage-ID: {longer}\r\nX-Countersign-Key: {}1\r\n\r\nno\r\n",
        order.idempotency_key()
    );
    rig.sandbox.file(SUPPORT, "Sent", with_longer_key.as_bytes());
    let look = rig.connector.look(&order, &rig.login, &[]).await;
    assert!(matches!(look, Sighting::NotSeen { .. }), "{look:?}");
    let ours = format!("From: {SUPPORT}\r\nMessage-ID:\r\n {ours}\r\n\r\nyes\r\n");
    rig.sandbox.file(SUPPORT, "Sent", ours.as_bytes());
    let look = rig.connector.look(&order, &rig.login, &[]).await;
    assert!(matches!(&look, Sighting::Found(receipt) if receipt.strength == Strength::Proof), "{look:?}");
    Ok(())
}

#[tokio::test]
async fn a_rebuilt_sent_folder_is_searched_whole() -> Tried {
    let rig = Rig::new(Setup { files_sent: true, told: "true", ..Setup::default() }).await?;
    for number in 0..3 {
        rig.sandbox.file(SUPPORT, "Sent", format!("Message-ID: <old-{number}@x.example>\r\n\r\n").as_bytes());
    }
    rig.sandbox.fault_once(Fault::reset_after_acting());
    let order = rig.order("rebuilt");
    let attempt = rig.attempt(&order, PATIENT).await;
    rig.sandbox.remove(SUPPORT, "Sent", "Message-ID", "<old-0@x.example>");
    rig.sandbox.rebuild_folder(SUPPORT, "Sent");
    let look = rig.connector.look(&order, &rig.login, &attempt.noted).await;
    assert!(matches!(look, Sighting::Found(_)), "the noted UIDNEXT means nothing any more: {look:?}");
    Ok(())
}

#[tokio::test]
async fn a_report_with_our_envelope_id_is_evidence() -> Tried {
    let rig = Rig::new(Setup::default()).await?;
    rig.sandbox.set_habits(Habits { sends_reports: true, ..Habits::default() });
    rig.sandbox.fault_once(Fault::reset_after_acting());
    let order = rig.order("report");
    let attempt = rig.attempt(&order, PATIENT).await;
    doubt(&attempt.outcome);
    let look = rig.connector.look(&order, &rig.login, &attempt.noted).await;
    assert!(matches!(&look, Sighting::Found(receipt) if receipt.strength >= Strength::Strong), "{look:?}");
    Ok(())
}

#[tokio::test]
async fn a_mailbox_that_cannot_be_asked_is_no_absence() -> Tried {
    let troubles = [
        Fault::imap_down(),
        Fault::imap_login_refused(),
        Fault::search_refused(),
        Fault::search_cut(),
        Fault::fetch_refused(),
        Fault::fetch_cut(),
    ];
    for fault in troubles {
        let rig = Rig::new(Setup { files_sent: true, told: "true", ..Setup::default() }).await?;
        rig.sandbox.fault_once(Fault::reset_after_acting());
        let order = rig.order("cannot-ask");
        let attempt = rig.attempt(&order, PATIENT).await;
        rig.sandbox.set_fault(fault.clone(), Times::Always);
        let look = rig.connector.look(&order, &rig.login, &attempt.noted).await;
        assert!(matches!(look, Sighting::CannotTell { .. }), "{fault:?}: {look:?}");
    }
    Ok(())
}

#[tokio::test]
async fn r16_a_mailbox_that_cannot_be_asked_is_no_unchanged_situation() -> Tried {
    for fault in
        [Fault::imap_down(), Fault::search_refused(), Fault::search_cut(), Fault::fetch_refused(), Fault::fetch_cut()]
    {
        let rig = Rig::new(Setup::default()).await?;
        rig.sandbox.deliver(SUPPORT, PARENT_BYTES.as_bytes());
        rig.sandbox.deliver(SUPPORT, message_in_thread(ROBIN, SUPPORT, "<m2@customer.example>").as_bytes());
        rig.sandbox.set_fault(fault.clone(), Times::Always);
        let asked = rig.connector.situation(&rig.order("situation"), &rig.login, &[]).await;
        assert!(matches!(asked, Situation::CannotAsk { .. }), "{fault:?}: {asked:?}");
        let parent = rig.connector.parent(&conversation(), &rig.login).await;
        assert!(matches!(parent, Parent::CannotAsk { .. }), "{fault:?}: {parent:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_list_of_folders_that_is_refused_is_not_a_mailbox_without_folders() -> Tried {
    let rig = Rig::new(Setup::default()).await?;
    let text = "[INUSE] try again".to_owned();
    let fault = Fault::Imap { at: ImapStage::List, folder: None, taken: false, answer: Misbehaviour::No { text } };
    rig.sandbox.set_fault(fault, Times::Always);
    let asked = rig.connector.situation(&rig.order("list"), &rig.login, &[]).await;
    let Situation::CannotAsk { why, pauses, signed_out } = asked else { return Err(format!("{asked:?}").into()) };
    assert!(why.contains("said no"), "{why}");
    assert!(!pauses && !signed_out, "it is asked again soon");
    Ok(())
}

#[tokio::test]
async fn without_a_mailbox_nothing_can_be_looked_up_and_the_contract_says_so() -> Tried {
    let rig = Rig::new(Setup { imap: false, ..Setup::default() }).await?;
    let order = rig.order("no-imap");
    assert!(rig.connector.contract("email.reply").is_some_and(|contract| !contract.can_look()));
    let attempt = rig.attempt(&order, PATIENT).await;
    assert!(matches!(attempt.outcome, Outcome::Accepted(_)));
    assert!(matches!(rig.connector.look(&order, &rig.login, &attempt.noted).await, Sighting::CannotTell { .. }));
    assert_eq!(rig.connector.situation(&order, &rig.login, &[]).await, Situation::NothingToAsk);
    assert_eq!(rig.connector.file_copy(&order, &rig.login, &attempt.noted, LONG_AFTER).await, Filing::NotNeeded);
    assert_eq!(rig.sandbox.connections(Protocol::Imap), 0);
    Ok(())
}

#[tokio::test]
async fn r16_the_customer_writing_again_or_somebody_answering_is_noticed() -> Tried {
    let rig = Rig::new(Setup::default()).await?;
    rig.sandbox.deliver(SUPPORT, PARENT_BYTES.as_bytes());
    let order = rig.order("situation");
    assert_eq!(rig.connector.situation(&order, &rig.login, &[]).await, Situation::Unchanged);
    rig.sandbox.deliver(SUPPORT, message_in_thread(ROBIN, SUPPORT, "<m2@customer.example>").as_bytes());
    match rig.connector.situation(&order, &rig.login, &[]).await {
        Situation::Changed { code, .. } => assert_eq!(code, "customer_wrote_again"),
        other => return Err(format!("{other:?}").into()),
    }
    let rig = Rig::new(Setup::default()).await?;
    rig.sandbox.deliver(SUPPORT, PARENT_BYTES.as_bytes());
    let order = rig.order("situation");
    rig.sandbox.file(SUPPORT, "Sent", message_in_thread(SUPPORT, ROBIN, "<other@shop.example>").as_bytes());
    match rig.connector.situation(&order, &rig.login, &[]).await {
        Situation::Changed { code, .. } => assert_eq!(code, "somebody_answered"),
        other => return Err(format!("{other:?}").into()),
    }
    let ours = ["<other@shop.example>".to_owned()];
    assert_eq!(rig.connector.situation(&order, &rig.login, &ours).await, Situation::Unchanged);
    rig.sandbox.set_fault(Fault::imap_down(), Times::Always);
    let asked = rig.connector.situation(&order, &rig.login, &ours).await;
    assert!(matches!(asked, Situation::CannotAsk { .. }), "{asked:?}");
    Ok(())
}

#[tokio::test]
async fn the_customers_message_is_fetched_and_compared() -> Tried {
    let rig = Rig::new(Setup::default()).await?;
    assert_eq!(rig.connector.parent(&conversation(), &rig.login).await, Parent::Missing);
    rig.sandbox.deliver(SUPPORT, PARENT_BYTES.as_bytes());
    match rig.connector.parent(&conversation(), &rig.login).await {
        Parent::Matches { people, .. } => {
            assert!(people.contains(&ROBIN.to_owned()) && people.contains(&SUPPORT.to_owned()))
        }
        other => return Err(format!("{other:?}").into()),
    }
    let rig = Rig::new(Setup::default()).await?;
    let forged = PARENT_BYTES.replace("Robin Vale <robin@customer.example>", "Robin Vale <robin@custorner.example>");
    rig.sandbox.deliver(SUPPORT, forged.replace("move my slot", "keep my slot").as_bytes());
    match rig.connector.parent(&conversation(), &rig.login).await {
        Parent::Differs { fields, .. } => assert_eq!(fields, ["from", "text"]),
        other => return Err(format!("{other:?}").into()),
    }
    Ok(())
}

#[tokio::test]
async fn reading_the_mailbox_changes_nothing_in_it() -> Tried {
    let rig = Rig::new(Setup { files_sent: true, told: "true", ..Setup::default() }).await?;
    rig.sandbox.deliver(SUPPORT, PARENT_BYTES.as_bytes());
    let order = rig.order("read-only");
    rig.connector.situation(&order, &rig.login, &[]).await;
    rig.connector.parent(&conversation(), &rig.login).await;
    rig.connector.look(&order, &rig.login, &[]).await;
    assert!(rig.sandbox.mailbox(SUPPORT, "INBOX")[0].flags.is_empty());
    for changing in ["STORE", "APPEND", "CREATE", "DELETE", "EXPUNGE", "COPY", "MOVE", "SELECT"] {
        assert!(rig.sandbox.commands(Protocol::Imap, changing).is_empty(), "{changing}");
    }
    Ok(())
}

#[tokio::test]
async fn a_copy_is_filed_once_and_a_lost_answer_to_append_does_not_double_it() -> Tried {
    for lost in [Fault::append_resets_after_acting()] {
        let rig = Rig::new(Setup { told: "false", ..Setup::default() }).await?;
        let order = rig.order("filing");
        let attempt = rig.attempt(&order, PATIENT).await;
        assert!(matches!(attempt.outcome, Outcome::Accepted(_)));
        rig.sandbox.fault_once(lost);
        let first = rig.connector.file_copy(&order, &rig.login, &attempt.noted, LONG_AFTER).await;
        assert!(!matches!(first, Filing::NotNeeded), "{first:?}");
        let second = rig.connector.file_copy(&order, &rig.login, &attempt.noted, LONG_AFTER).await;
        assert!(matches!(second, Filing::AlreadyPresent { .. }), "{second:?}");
        assert_eq!(rig.sandbox.mailbox(SUPPORT, "Sent").len(), 1);
        assert!(rig.sandbox.mailbox(SUPPORT, "Sent")[0].flags.iter().any(|flag| flag == "\\Seen"));
    }
    Ok(())
}

#[tokio::test]
async fn filing_works_with_the_least_a_server_can_do() -> Tried {
    let rig = Rig::new(Setup { told: "false", ..Setup::default() }).await?;
    let least = ImapFeatures { special_use: false, uidplus: false, literal_plus: false, condstore: false, idle: false };
    rig.sandbox.set_imap(least);
    let order = rig.order("least");
    let attempt = rig.attempt(&order, PATIENT).await;
    let filing = rig.connector.file_copy(&order, &rig.login, &attempt.noted, LONG_AFTER).await;
    assert!(matches!(filing, Filing::Filed { .. }), "{filing:?}");
    assert_eq!(rig.sandbox.mailbox(SUPPORT, "Sent").len(), 1);
    Ok(())
}

#[tokio::test]
async fn the_connection_test_sends_nothing_and_names_the_step_that_failed() -> Tried {
    let rig = Rig::new(Setup::default()).await?;
    let steps = std::sync::Mutex::new(Vec::new());
    let progress = |probe: countersign_connectors::Probe| {
        if probe.status == ProbeStatus::Done {
            steps.lock().expect("no panic before").push(probe.step);
        }
    };
    let whoami = rig.connector.check(&rig.login, NOW, &progress).await?;
    assert_eq!(whoami.sent_folder.as_deref(), Some("Sent"));
    assert_eq!(whoami.size_limit, Some(26_214_400));
    assert!(whoami.smtp_extensions.iter().any(|extension| extension.starts_with("CHUNKING")), "{whoami:?}");
    let steps = steps.into_inner()?;
    for step in ["smtp_connect", "smtp_login", "imap_connect", "imap_login", "imap_sent"] {
        assert!(steps.contains(&step), "{step} in {steps:?}");
    }
    assert!(rig.sandbox.effects().is_empty());
    assert!(rig.sandbox.commands(Protocol::Smtp, "MAIL").is_empty());
    rig.sandbox.go_down(Protocol::Smtp).await?;
    let error = rig.connector.check(&rig.login, NOW, &|_| {}).await.err().ok_or("it should fail")?;
    assert_eq!((error.code, error.step), (SetupCode::Unreachable, "smtp_connect"));
    rig.sandbox.come_back(Protocol::Smtp).await?;
    for (fault, code, step) in [
        (Fault::smtp_login_refused(535), SetupCode::Login, "smtp_login"),
        (Fault::imap_login_refused(), SetupCode::Login, "imap_login"),
    ] {
        rig.sandbox.fault_once(fault.clone());
        let error = rig.connector.check(&rig.login, NOW, &|_| {}).await.err().ok_or("it should fail")?;
        assert_eq!((error.code, error.step), (code, step), "{fault:?}: {error}");
        assert!(!error.to_string().contains(&rig.login.secret));
    }
    Ok(())
}

#[tokio::test]
async fn a_test_message_teaches_whether_the_provider_files_the_copy_itself() -> Tried {
    for files_sent in [true, false] {
        let rig = Rig::new(Setup { files_sent, ..Setup::default() }).await?;
        let connector: &dyn Connector = &*rig.connector;
        let learnt = connector.test_send(&rig.login, SUPPORT, "nonce-1", crate::rig::NOW, &|_| {}).await?;
        assert_eq!(learnt.files_sent_itself, Some(files_sent));
        assert_eq!(rig.sandbox.effects().len(), 1);
    }
    Ok(())
}

#[tokio::test]
async fn a_message_too_big_for_the_server_is_not_begun() -> Tried {
    let rig = Rig::new(Setup::default()).await?;
    rig.sandbox.set_smtp(SmtpFeatures { size: Some(2000), ..SmtpFeatures::default() });
    let order = rig.order_with("big", &[ROBIN], &"A long line of text.\n".repeat(200));
    let attempt = rig.attempt(&order, PATIENT).await;
    assert!(!matches!(attempt.outcome, Outcome::Accepted(_) | Outcome::Unclear(_)), "{:?}", attempt.outcome);
    assert!(rig.sandbox.commands(Protocol::Smtp, "MAIL").is_empty(), "it is known before MAIL");
    assert_eq!(rig.effects(&order), 0);
    Ok(())
}
