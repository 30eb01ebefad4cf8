//! Failures seen in the field, on a mailbox. Numbers are those of the case file.

use std::time::Duration;

use countersign_connectors::{Filing, LateReader};
use countersign_domain::{Outcome, Sighting, Strength};
use countersign_sandbox::{Fault, Habits, Point, Protocol, Release, Times};

use crate::rig::{BRIEF, PATIENT, ROBIN, Rig, SUPPORT, Setup, Tried, doubt};

const BOTH: [bool; 2] = [true, false];
/// Longer than a provider is given to file the copy itself.
const LONG_AFTER: Duration = Duration::from_secs(31);

fn wire(chunking: bool) -> Setup {
    Setup { chunking, ..Setup::default() }
}

#[tokio::test]
async fn f01_a_timeout_after_the_final_dot_is_unclear_and_one_message() -> Tried {
    for chunking in BOTH {
        let rig = Rig::new(wire(chunking)).await?;
        rig.sandbox.fault_once(Fault::hang_after_acting());
        let order = rig.order("f01");
        let attempt = rig.attempt(&order, BRIEF).await;
        assert!(doubt(&attempt.outcome).code.contains("final_dot"), "{:?}", attempt.outcome);
        assert!(attempt.late.is_some(), "the connection is kept and read on");
        assert_eq!(rig.sandbox.count(Point::Disconnected), 0);
        assert_eq!(rig.effects(&order), 1);
        assert_eq!(rig.sandbox.connections(Protocol::Smtp), 1);
    }
    Ok(())
}

#[tokio::test]
async fn f01_a_late_250_settles_the_case_and_a_late_refusal_does_too() -> Tried {
    for (fault, effects) in [(Fault::late_answer(), 1), (Fault::late_refusal(554), 0)] {
        let rig = Rig::new(Setup::default()).await?;
        rig.sandbox.fault_once(fault);
        let order = rig.order("f01-late");
        let attempt = rig.attempt(&order, BRIEF).await;
        doubt(&attempt.outcome);
        let late: LateReader = attempt.late.ok_or("the connection is kept")?;
        rig.sandbox.wait_for(Point::Held, 1).await?;
        rig.sandbox.release(Release::Answers);
        let (outcome, late) = rig.judge(&order, late.read_on(PATIENT).await).await;
        assert!(late.is_none());
        match (&outcome, effects) {
            (Outcome::Accepted(receipt), 1) => assert!(receipt.text.contains("SBX000001"), "{receipt:?}"),
            (Outcome::Refused(_), 0) => {}
            other => return Err(format!("{other:?}").into()),
        }
        assert_eq!(rig.effects(&order), effects);
    }
    Ok(())
}

#[tokio::test]
async fn f02_one_attempt_is_one_connection_whatever_happens_on_it() -> Tried {
    let troubles = [
        Fault::smtp_down(),
        Fault::greets_with(421),
        Fault::cut_before_mail(),
        Fault::cut_in_body(100),
        Fault::refused_at_end(451),
        Fault::reset_after_acting(),
        Fault::nonsense_after_acting(),
    ];
    for trouble in troubles {
        for chunking in BOTH {
            let rig = Rig::new(wire(chunking)).await?;
            rig.sandbox.set_fault(trouble.clone(), Times::Always);
            let order = rig.order("f02");
            rig.attempt(&order, PATIENT).await;
            assert_eq!(rig.sandbox.connections(Protocol::Smtp), 1, "{trouble:?}");
            assert!(rig.effects(&order) <= 1, "{trouble:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn f04_a_reply_in_the_middle_of_the_body_is_never_taken_for_a_failure() -> Tried {
    let long = "A line of a longer answer.\n".repeat(4000);
    for code in [451, 554] {
        let rig = Rig::new(wire(false)).await?;
        rig.sandbox.fault_once(Fault::stray_reply_in_body(30, code));
        let order = rig.order_with("f04", &[ROBIN], &long);
        let attempt = rig.attempt(&order, PATIENT).await;
        doubt(&attempt.outcome);
        assert!(rig.effects(&order) <= 1);
        assert_eq!(rig.sandbox.connections(Protocol::Smtp), 1);
    }
    Ok(())
}

#[tokio::test]
async fn f04_two_replies_to_the_final_dot_are_unclear() -> Tried {
    for chunking in BOTH {
        let rig = Rig::new(wire(chunking)).await?;
        rig.sandbox.fault_once(Fault::two_replies());
        let order = rig.order("f04-two");
        doubt(&rig.attempt(&order, PATIENT).await.outcome);
        assert_eq!(rig.effects(&order), 1);
    }
    Ok(())
}

#[tokio::test]
async fn f05_a_copy_that_the_provider_files_is_never_filed_again() -> Tried {
    for told in ["true", "\"auto\""] {
        let rig = Rig::new(Setup { files_sent: true, told, ..Setup::default() }).await?;
        let order = rig.order("f05");
        let attempt = rig.attempt(&order, PATIENT).await;
        assert!(matches!(attempt.outcome, Outcome::Accepted(_)));
        for since in [Duration::ZERO, LONG_AFTER] {
            let filing = rig.connector.file_copy(&order, &rig.login, &attempt.noted, since).await;
            assert!(matches!(filing, Filing::AlreadyPresent { .. } | Filing::NotNeeded), "{told}: {filing:?}");
        }
        assert!(rig.sandbox.commands(Protocol::Imap, "APPEND").is_empty());
        assert_eq!(rig.sandbox.mailbox(SUPPORT, "Sent").len(), 1);
    }
    Ok(())
}

#[tokio::test]
async fn f05_a_copy_that_appears_late_is_waited_for() -> Tried {
    let rig = Rig::new(Setup { files_sent: true, ..Setup::default() }).await?;
    rig.sandbox.fault_once(Fault::slow_index("Sent"));
    let order = rig.order("f05-late");
    let attempt = rig.attempt(&order, PATIENT).await;
    let filing = rig.connector.file_copy(&order, &rig.login, &attempt.noted, Duration::from_secs(1)).await;
    assert!(matches!(filing, Filing::Waiting { .. }), "{filing:?}");
    rig.sandbox.release(Release::Index);
    let filing = rig.connector.file_copy(&order, &rig.login, &attempt.noted, LONG_AFTER).await;
    assert!(matches!(filing, Filing::AlreadyPresent { .. }), "{filing:?}");
    assert!(rig.sandbox.appends().is_empty());
    Ok(())
}

#[tokio::test]
async fn f06_a_refused_append_leaves_the_send_accepted_and_can_be_made_good() -> Tried {
    let rig = Rig::new(Setup::default()).await?;
    let order = rig.order("f06");
    let attempt = rig.attempt(&order, PATIENT).await;
    assert!(matches!(attempt.outcome, Outcome::Accepted(_)));
    rig.sandbox.fault_once(Fault::append_refused());
    let filing = rig.connector.file_copy(&order, &rig.login, &attempt.noted, LONG_AFTER).await;
    assert!(matches!(filing, Filing::Failed { .. }), "{filing:?}");
    let filing = rig.connector.file_copy(&order, &rig.login, &attempt.noted, LONG_AFTER).await;
    assert!(matches!(filing, Filing::Filed { .. }), "{filing:?}");
    let filing = rig.connector.file_copy(&order, &rig.login, &attempt.noted, LONG_AFTER).await;
    assert!(matches!(filing, Filing::AlreadyPresent { .. }), "{filing:?}");
    assert_eq!(rig.sandbox.appends().len(), 1);
    assert_eq!(rig.sandbox.appends()[0].bytes, rig.sandbox.effects()[0].bytes, "filed from the same bytes");
    assert_eq!(rig.effects(&order), 1);
    Ok(())
}

#[tokio::test]
async fn f07_a_replaced_message_id_is_found_by_the_original_one_or_our_header() -> Tried {
    let rig = Rig::new(Setup { files_sent: true, told: "true", ..Setup::default() }).await?;
    rig.sandbox.set_habits(Habits { files_sent: true, replaces_message_id: true, ..Habits::default() });
    rig.sandbox.fault_once(Fault::reset_after_acting());
    let order = rig.order("f07");
    let attempt = rig.attempt(&order, PATIENT).await;
    doubt(&attempt.outcome);
    match rig.connector.look(&order, &rig.login, &attempt.noted).await {
        Sighting::Found(receipt) => assert_eq!(receipt.strength, Strength::Strong, "{receipt:?}"),
        other => return Err(format!("{other:?}").into()),
    }
    Ok(())
}

#[tokio::test]
async fn f08_one_refused_recipient_keeps_us_out_of_data() -> Tried {
    for chunking in BOTH {
        for (code, lasting) in [(550, true), (450, false), (552, false)] {
            let rig = Rig::new(wire(chunking)).await?;
            rig.sandbox.fault_once(Fault::rcpt_refused("gone@customer.example", code));
            let order = rig.order_with("f08", &[ROBIN, "gone@customer.example"], "Of course.\n");
            let attempt = rig.attempt(&order, PATIENT).await;
            let words = match (&attempt.outcome, lasting) {
                (Outcome::Refused(no), true) => &no.words,
                (Outcome::NotSent(no), false) => &no.words,
                other => return Err(format!("{code}: {other:?}").into()),
            };
            assert!(words.contains("250") && words.contains(&code.to_string()), "both replies are kept: {words}");
            for verb in ["DATA", "BDAT"] {
                assert!(rig.sandbox.commands(Protocol::Smtp, verb).is_empty());
            }
            assert_eq!(rig.effects(&order), 0);
        }
    }
    Ok(())
}

#[tokio::test]
async fn f09_a_refusal_after_the_body_is_final_and_leaves_no_copy_in_sent() -> Tried {
    for chunking in BOTH {
        let rig = Rig::new(wire(chunking)).await?;
        rig.sandbox.fault_once(Fault::refused_at_end(550));
        let order = rig.order("f09");
        let attempt = rig.attempt(&order, PATIENT).await;
        match &attempt.outcome {
            Outcome::Refused(no) => assert!(no.words.contains("5.7.1"), "{no:?}"),
            other => return Err(format!("{other:?}").into()),
        }
        assert_eq!(rig.effects(&order), 0);
        assert!(rig.sandbox.mailbox(SUPPORT, "Sent").is_empty());
        assert_eq!(rig.sandbox.connections(Protocol::Smtp), 1);
    }
    Ok(())
}
