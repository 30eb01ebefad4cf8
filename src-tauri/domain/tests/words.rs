//! Sentences about actions: what is known, and never more than that.

use countersign_domain::explain::{Story, difference, explain};
use countersign_domain::{ActionKey, Standing, State};

fn story() -> Story {
    Story { destination: "support-mailbox".into(), ..Story::default() }
}

fn standing(state: State) -> Standing {
    Standing { state, ..Standing::proposed(true) }
}

/// Every combination that changes a sentence.
fn all() -> Vec<(Standing, Story)> {
    let mut out = Vec::new();
    for state in State::ALL {
        for bits in 0..64_u32 {
            for attempts in [0, 1, 3] {
                let has = |bit: u32| bits & (1 << bit) != 0;
                let s =
                    Standing { by_word: has(0), crossed_once: has(1), in_doubt: has(2), attempts, ..standing(state) };
                let told = has(3).then(|| "it has a reason".to_owned());
                let story = Story {
                    by_word_of: has(0).then(|| "Noor".into()),
                    duplicates: u32::from(has(4)) * 2,
                    adopted: has(5),
                    receipt: told.clone(),
                    revises: told.clone(),
                    revised_by: told.clone(),
                    reason: told,
                    ..story()
                };
                out.push((s, story));
            }
        }
    }
    out
}

#[test]
fn r22_r24_no_sentence_says_delivered_failed_or_retry() {
    for (standing, story) in all() {
        let text = explain(&standing, &story);
        for word in ["delivered", "failed", "failure", "retry", "error", "success", "exactly once", "guarantee"] {
            assert!(!text.to_lowercase().contains(word), "{word}: {text}");
        }
        assert!(text.ends_with(['.', '…', '!', '?']) && !text.contains("  ") && !text.contains(".."), "{text}");
    }
}

#[test]
fn nothing_sent_is_called_certain_only_where_it_rests_on_no_ones_word() {
    for (standing, story) in all() {
        let text = explain(&standing, &story);
        let by_word = standing.by_word && standing.state.says_nothing_sent();
        assert_eq!(text.contains("Not sent, by Noor's word."), by_word, "{standing:?}: {text}");
        if by_word {
            assert!(
                !text.contains("certain")
                    && !text.contains("Nothing was sent.")
                    && !text.contains("before anything was sent"),
                "{text}"
            );
        }
        if matches!(standing.state, State::Unknown | State::ClosedUnknown) {
            assert!(!text.contains("Nothing was sent.") && !text.contains("certain"), "{text}");
        }
    }
}

#[test]
fn the_states_read_as_the_design_says() {
    let say = |state, story: Story| explain(&standing(state), &story);
    assert_eq!(say(State::Unknown, story()), "We don't know whether support-mailbox took it. Nothing was sent again.");
    let refused = Story { reason: Some("550 no such user".into()), ..story() };
    assert_eq!(
        say(State::Refused, refused),
        "support-mailbox said no: 550 no such user. This is certain: nothing was sent."
    );
    let accepted = Story { receipt: Some("Found in Sent by its Message-ID".into()), ..story() };
    assert!(say(State::Accepted, accepted).starts_with("Accepted. Found in Sent by its Message-ID."));
    assert_eq!(say(State::Approved, story()), "Approved. Nothing has left yet.");
}

#[test]
fn r29_a_suppressed_repeat_says_why() {
    let asked = Story { duplicates: 2, ..story() };
    let text = explain(&standing(State::Accepted), &asked);
    assert!(text.contains("asked for 2 more times") && text.contains("nothing was sent a second time"), "{text}");
    let text = explain(&standing(State::Unknown), &asked);
    assert!(text.contains("It may have happened already, so nothing was sent a second time"), "{text}");
    let text = explain(&standing(State::Prepared), &asked);
    assert!(text.contains("no second one was made"), "{text}");
}

#[test]
fn r29_two_actions_say_why_they_count_as_different() {
    let one = ActionKey {
        environment: "live".into(),
        destination: "support-mailbox".into(),
        effect: "email.reply".into(),
        source: "inbox-agent".into(),
        request_id: "inquiry-1".into(),
        step: "first-reply".into(),
        revision: 1,
    };
    assert_eq!(difference(&one, &one), None);
    let other = ActionKey { request_id: "inquiry-2".into(), revision: 2, ..one.clone() };
    assert_eq!(
        difference(&one, &other).unwrap(),
        "They count as different, because they differ in the request (`inquiry-1` and `inquiry-2`) and the revision (1 and 2)."
    );
    let text = explain(&standing(State::Prepared), &Story { revises: Some("A-7".into()), ..story() });
    assert!(text.contains("It revises A-7") && text.contains("count as different"), "{text}");
}

#[test]
fn r27_r29_where_another_copy_of_the_ledger_may_have_sent_it_nothing_is_called_certain() {
    for (standing, story) in all().into_iter().filter(|(s, story)| story.adopted && s.state != State::Accepted) {
        let text = explain(&standing, &story);
        assert!(text.contains("may have been sent from another copy"), "{text}");
        for never in [
            "certain",
            "othing was sent",
            "othing has left",
            "othing has been sent",
            "othing leaves",
            "before anything was",
        ] {
            assert!(!text.contains(never), "{never}: {standing:?}: {text}");
        }
    }
}
