//! The trials of a mail server, on every way its wire can take. Kinds with an HTTP API have theirs in `suite`. None of them may end with two effects,
//! and none may claim to know more than its double can have told.

use std::time::Duration;

use countersign_connectors::kinds;
use countersign_domain::{Outcome, Sighting, Strength};
use countersign_sandbox::{Fault, Protocol, Release};

use crate::rig::{BRIEF, PATIENT, ROBIN, Rig, Setup, Tried};

/// What an attempt must come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    Accepted,
    Refused,
    /// Certainly nothing happened, and the attempt counts.
    NotSent,
    /// Certainly nothing happened, nothing was tried, and the destination waits.
    Paused,
    Unclear,
}

/// What is wrong at the destination.
enum Trouble {
    Nothing,
    /// Nobody listens.
    Down,
    Fault(Fault),
}

struct Trial {
    name: &'static str,
    trouble: Trouble,
    want: Want,
    effects: usize,
    limit: Duration,
}

fn trial(name: &'static str, trouble: Fault, want: Want, effects: usize) -> Trial {
    Trial { name, trouble: Trouble::Fault(trouble), want, effects, limit: PATIENT }
}

fn silent(name: &'static str, trouble: Fault, effects: usize) -> Trial {
    Trial { name, trouble: Trouble::Fault(trouble), want: Want::Unclear, effects, limit: BRIEF }
}

/// What can go wrong at a mail server.
fn mail_trials() -> Vec<Trial> {
    use Want::{NotSent, Paused, Refused, Unclear};
    vec![
        Trial { name: "accepts", trouble: Trouble::Nothing, want: Want::Accepted, effects: 1, limit: PATIENT },
        Trial { name: "cannot be reached", trouble: Trouble::Down, want: Paused, effects: 0, limit: PATIENT },
        trial("resets before a word", Fault::smtp_down(), Paused, 0),
        trial("greets with no service", Fault::greets_with(554), Paused, 0),
        trial("greets with too busy", Fault::greets_with(421), Paused, 0),
        trial("refuses the login", Fault::smtp_login_refused(535), Paused, 0),
        trial("cannot check the login now", Fault::smtp_login_refused(454), Paused, 0),
        trial("cuts before MAIL", Fault::cut_before_mail(), NotSent, 0),
        trial("is busy at MAIL", Fault::mail_refused(451), NotSent, 0),
        trial("refuses the sender", Fault::mail_refused(553), Refused, 0),
        trial("cuts at RCPT", Fault::cut_at_rcpt(), NotSent, 0),
        trial("refuses the recipient", Fault::rcpt_refused(ROBIN, 550), Refused, 0),
        trial("is busy for the recipient", Fault::rcpt_refused(ROBIN, 450), NotSent, 0),
        trial("has no room for the recipient", Fault::rcpt_refused(ROBIN, 552), NotSent, 0),
        trial("cuts after RCPT", Fault::cut_after_rcpt(), NotSent, 0),
        trial("refuses at DATA", Fault::data_refused(554), Refused, 0),
        trial("is busy at DATA", Fault::data_refused(451), NotSent, 0),
        trial("refuses at the end", Fault::refused_at_end(550), Refused, 0),
        trial("is busy at the end", Fault::refused_at_end(451), NotSent, 0),
        trial("closes at the end", Fault::closing_at_end(), Unclear, 0),
        silent("hangs before acting", Fault::hang_before_acting(), 0),
        silent("hangs after acting", Fault::hang_after_acting(), 1),
        trial("resets before acting", Fault::reset_before_acting(), Unclear, 0),
        trial("resets after acting", Fault::reset_after_acting(), Unclear, 1),
        trial("hangs up after acting", Fault::close_after_acting(), Unclear, 1),
        trial("talks nonsense before acting", Fault::nonsense_before_acting(), Unclear, 0),
        trial("talks nonsense after acting", Fault::nonsense_after_acting(), Unclear, 1),
        trial("answers twice", Fault::two_replies(), Unclear, 1),
    ]
}

/// The wires that differ on the network.
fn setups() -> Vec<Setup> {
    let mut all = Vec::new();
    for chunking in [true, false] {
        for dsn in [true, false] {
            for files_sent in [true, false] {
                let told = if files_sent { "true" } else { "\"auto\"" };
                all.push(Setup { chunking, dsn, files_sent, told, imap: true });
            }
        }
    }
    all
}

fn came_to(outcome: &Outcome) -> Want {
    match outcome {
        Outcome::Accepted(_) => Want::Accepted,
        Outcome::Refused(_) => Want::Refused,
        Outcome::NotSent(no) if no.pauses => Want::Paused,
        Outcome::NotSent(_) => Want::NotSent,
        Outcome::Unclear(_) => Want::Unclear,
    }
}

#[tokio::test]
async fn no_trial_ends_with_two_effects_or_with_more_than_can_be_known() -> Tried {
    for kind in kinds().into_iter().filter(|kind| kind.name == "mailbox") {
        for setup in setups() {
            for effect in &kind.effects {
                let mut count = 0;
                for trial in mail_trials() {
                    let case = format!("{} {effect} on {setup:?}: {}", kind.name, trial.name);
                    let rig = Rig::new(setup).await?;
                    run(&rig, effect, &trial, &case, setup).await?;
                    count += 1;
                }
                println!("{} {effect}, {setup:?}: {count} trials", kind.name);
            }
        }
    }
    Ok(())
}

async fn run(rig: &Rig, effect: &str, trial: &Trial, case: &str, setup: Setup) -> Tried {
    match &trial.trouble {
        Trouble::Nothing => {}
        Trouble::Down => rig.sandbox.go_down(Protocol::Smtp).await?,
        Trouble::Fault(fault) => rig.sandbox.fault_once(fault.clone()),
    }
    let order = if effect == "email.reply" { rig.order(trial.name) } else { first_mail(rig, trial.name) };
    let attempt = rig.attempt(&order, trial.limit).await;
    assert_eq!(came_to(&attempt.outcome), trial.want, "{case}: {:?}", attempt.outcome);
    assert_eq!(rig.effects(&order), trial.effects, "{case}");
    assert_eq!(rig.sandbox.effects().len(), trial.effects, "{case}: nothing else left the house");
    assert!(rig.sandbox.faults().is_empty(), "{case}: the trouble took place");
    rig.sandbox.come_back(Protocol::Smtp).await?;
    if trial.want == Want::NotSent || trial.want == Want::Paused {
        // What was certainly not sent is tried again, and then there is one.
        let again = rig.attempt(&order, PATIENT).await;
        assert_eq!(came_to(&again.outcome), Want::Accepted, "{case}, again: {:?}", again.outcome);
        assert_eq!(rig.effects(&order), 1, "{case}, again");
    }
    if trial.want == Want::Unclear {
        unclear_is_asked_about(rig, &order, &attempt.noted, trial, case, setup).await;
    }
    Ok(())
}

/// After doubt the contract says what helps. Only a destination that recognises a repeat may be given one.
async fn unclear_is_asked_about(
    rig: &Rig,
    order: &countersign_domain::Countersigned,
    noted: &[serde_json::Value],
    trial: &Trial,
    case: &str,
    setup: Setup,
) {
    let contract = rig.connector.contract(&order.key().effect).expect("a contract");
    assert!(!contract.recognises_repeat(), "{case}: trials for repeats are missing");
    assert!(contract.can_look() && !contract.absence_conclusive, "{case}");
    let sighting = rig.connector.look(order, &rig.login, noted).await;
    match (&sighting, trial.effects == 1 && setup.files_sent) {
        (Sighting::Found(receipt), true) => assert_eq!(receipt.strength, Strength::Proof, "{case}"),
        (Sighting::NotSeen { .. }, false) => {}
        _ => panic!("{case}: {sighting:?}"),
    }
    rig.sandbox.release(Release::All);
    assert_eq!(rig.effects(order), trial.effects, "{case}: looking sends nothing");
}

/// The other effect: a mail that answers nobody.
fn first_mail(rig: &Rig, step: &str) -> countersign_domain::Countersigned {
    let payload = serde_json::json!({
        "from": { "name": "Shop Support", "email": crate::rig::SUPPORT }, "to": [{ "email": ROBIN }],
        "subject": "Your slot", "text": "We come on Tuesday.\n"
    });
    rig.order_of("email.send", step, payload, None)
}
