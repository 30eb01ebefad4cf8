//! A morning of thirty drafts, cleared by keys alone, and counted where they arrive.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use countersign_domain::Timestamp;
use countersign_sandbox::story::{self, Conversation};
use countersign_sandbox::{Account, Config, Fault, Habits, Misbehaviour, Sandbox, SmtpStage, Times};
use serde_json::{Value, json};
use testkit::office::state;
use testkit::{Cli, Display, Scratch, Session, Window};

use crate::story::{ARMED, until_state};

/// Keys that a draft takes in the mock-ups and by the design reference's key table (section 12), with so many checks to
/// look at, and so many approvals that came too early: a check came up while the key was pressed. Letters of a reason or of evidence are left out on both sides.
fn mock_up(kind: &str, checks: usize, refused: usize) -> usize {
    // 02: C opens a check, Tab goes to its tick, Space.
    let looked = 3 * checks;
    match kind {
        // Ctrl Enter; approving moves to the next request (section 17).
        "plain" => 1 + refused,
        "risky" => looked + 1 + refused,
        // C to look, X, Tab from the safe answer to Reject, Enter.
        "forged" => 4,
        // Enter opens it in the focus view (section 4), Ctrl Shift Enter.
        "bundle" => 2,
        // Approved before the news came; G R; 21: Ctrl Enter decides; looked at; approved.
        "stale" => 1 + 2 + 1 + looked + 1 + refused,
        // 05: G U; P; Shift Tab and an arrow to the other verdict, Tab back; Tab, Tab, Enter to sign.
        "unknown" => 2 + 1 + 3 + 3,
        other => panic!("{other} is no kind"),
    }
}

/// One company each; no two look like each other.
const SHOPS: &[&str] = &[
    "amber-kitchen",
    "birch-lane",
    "copperfield-tea",
    "dune-yoga",
    "elm-school",
    "fjord-ceramics",
    "garnet-hotel",
    "harbour-radio",
    "iris-florist",
    "juniper-inn",
    "kestrel-bikes",
    "lantern-theatre",
    "meadow-dental",
    "nettle-soap",
    "orchard-school",
    "pebble-studio",
    "quarry-books",
    "rowan-law",
    "saffron-grill",
    "thistle-press",
    "umber-paints",
    "velvet-cinema",
    "willow-press",
    "xenia-travel",
    "yarrow-clinic",
    "zephyr-sails",
    "acorn-nursery",
    "basalt-tiles",
    "cobalt-gallery",
];
/// The lines of `SHOPS` that are more than a plain answer.
const BUNDLE: usize = 11;
const FORGED: usize = 22;
const YESTERDAY: usize = 27;

/// The story's third conversation with another customer in it.
fn asked(number: usize, now: i64) -> (Vec<u8>, Value) {
    let shop = SHOPS[number];
    let Conversation { message, proposal, .. } = story::conversations(now).remove(2);
    let other = |text: String| {
        text.replace("fielding-books", shop)
            .replace("Mika Fielding", &format!("Mika {}", shop.replace('-', " ")))
            .replace("<invoice-", &format!("<q{number}-"))
            .replace("sandbox-invoice", &format!("request-{number}"))
            .replace("sandbox-event-3", &format!("event-{number}"))
            .replace("2231", &(3000 + number).to_string())
    };
    let message = other(String::from_utf8(message).expect("plain text")).into_bytes();
    let mut proposal: Value = serde_json::from_str(&other(proposal.to_string())).expect("still JSON");
    if number == FORGED {
        let forged = json!([{"name": "Accounts", "email": format!("accounts@{}.example", shop.replacen('l', "1", 1))}]);
        proposal["actions"][0]["payload"]["cc"] = forged;
    }
    if number == BUNDLE {
        // To the same customer, in the same delivery: nothing of it is held.
        for (step, subject) in [("tickets", "Your tickets"), ("seats", "Your seats")] {
            let mut one = proposal["actions"][0].clone();
            one["step"] = step.into();
            one["effect"] = "email.send".into();
            let payload = one["payload"].as_object_mut().expect("an object");
            payload.remove("in_reply_to");
            payload.remove("references");
            payload.insert("subject".into(), subject.into());
            proposal["actions"].as_array_mut().expect("a list").push(one);
        }
    }
    (message, proposal)
}

struct Hands<'a> {
    window: &'a Window,
    pressed: usize,
    looked: usize,
    refused: usize,
    spent: BTreeMap<&'static str, Vec<Spent>>,
    since: Instant,
}

/// What one draft took.
struct Spent {
    keys: usize,
    /// In the mock-ups.
    mocked: usize,
    time: Duration,
}

impl Hands<'_> {
    async fn press(&mut self, keys: &[&str]) {
        self.window.press(keys).await;
        self.pressed += keys.len();
    }

    /// What was pressed since the last one was for a draft of this kind.
    fn done(&mut self, kind: &'static str) {
        let mocked = mock_up(kind, std::mem::take(&mut self.looked), std::mem::take(&mut self.refused));
        let spent = Spent { keys: std::mem::take(&mut self.pressed), mocked, time: self.since.elapsed() };
        self.spent.entry(kind).or_default().push(spent);
        self.since = Instant::now();
    }

    async fn is(&self, expression: &str) -> bool {
        self.window.eval(expression).await == Value::Bool(true)
    }

    async fn until(&self, what: &str, expression: &str) {
        self.window.until(what, expression).await;
    }
}

const NO_DIALOG: &str = "document.querySelector('dialog[open]') === null";
const SHOWN: &str = "document.querySelector('[data-shown]')";
const TICK: &str = "document.activeElement.matches('.look input')";

fn there(css: &str) -> String {
    format!("document.querySelector({}) !== null", json!(css))
}

/// A sandbox home as it is in the morning, with its mailbox in this process; one message has no answer since yesterday.
async fn stage(cli: &Cli, sandbox_of: &std::path::Path) -> (Sandbox, String) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    let day_ago = |minutes: u64| {
        let at = now - Duration::from_secs(24 * 3600) + Duration::from_secs(60 * minutes);
        Timestamp::from_millis(i64::try_from(at.as_millis()).expect("a date")).to_string()
    };
    cli.ok(&["--now", &day_ago(0), "init", "--owner", "Noor Brackley", "--sandbox", "--no-passphrase"]);
    let config = Config {
        accounts: vec![Account::new(story::ADDRESS, "sandbox")],
        directory: Some(sandbox_of.to_owned()),
        habits: Habits { files_sent: true, ..Habits::default() },
        ..Config::default()
    };
    let sandbox = Sandbox::start(config).await.expect("the mailbox starts");
    let seconds = i64::try_from(now.as_secs()).expect("a date");

    let (message, proposal) = asked(YESTERDAY, seconds - 24 * 3600);
    sandbox.deliver(story::ADDRESS, &message);
    let id = propose(cli, &["--now", &day_ago(1)], &proposal).remove(0);
    let hash = cli.ok(&["show", &id])["payload_hash"].as_str().expect("a hash").to_owned();
    cli.ok(&["--now", &day_ago(2), "approve", &id, "--payload-hash", &hash]);
    let cut = Fault::Smtp { at: SmtpStage::End, address: None, taken: false, answer: Misbehaviour::Close };
    sandbox.set_fault(cut, Times::Once);
    cli.run(&["--now", &day_ago(4), "dispatch", "--until-idle"]);
    assert_eq!(state(&cli.ok(&["show", &id])), "unknown");
    assert!(sandbox.effects().is_empty(), "the mailbox did not take it");

    for conversation in story::conversations(seconds).iter().take(2) {
        sandbox.deliver(story::ADDRESS, &conversation.message);
        propose(cli, &[], &conversation.proposal);
    }
    // The first customer writes once more; the agent has not noticed.
    sandbox.deliver(story::ADDRESS, &story::conversations(seconds)[0].writes_again);
    // Two were waiting before: thirty in all, and the one of yesterday.
    for number in (0..SHOPS.len()).filter(|n| *n != YESTERDAY) {
        let (message, proposal) = asked(number, seconds);
        sandbox.deliver(story::ADDRESS, &message);
        propose(cli, &[], &proposal);
    }
    (sandbox, id)
}

fn propose(cli: &Cli, when: &[&str], proposal: &Value) -> Vec<String> {
    let args = [when, &["propose", "-", "--source", story::SOURCE]].concat();
    let answer = cli.run_input(&args, proposal.to_string().as_bytes()).expect(0).json();
    let actions = answer["actions"].as_array().expect("actions").iter();
    actions.map(|a| a["id"].as_str().expect("an id").to_owned()).collect()
}

/// Looks at each check that holds the draft and says so: opening is one key, the tick another.
async fn look(hands: &mut Hands<'_>) {
    while hands.is(&there("[data-check]")).await {
        hands.press(&["c"]).await;
        hands.until("the tick has the focus", TICK).await;
        let open = "document.querySelector('[data-check][aria-expanded=true]').dataset.check";
        let name = hands.window.eval(open).await.as_str().expect("a check").to_owned();
        hands.press(&["Space"]).await;
        hands.looked += 1;
        hands.until("the check is cleared", &format!("!({})", there(&format!("[data-check=\"{name}\"]")))).await;
    }
    hands.until("what is shown can be approved", ARMED).await;
}

/// Approves what is shown once every check was looked at; what the mailbox tells meanwhile may be one more.
async fn approve(hands: &mut Hands<'_>) {
    let id = hands.window.eval(&format!("{SHOWN}.dataset.shown")).await;
    let decided = format!("({SHOWN}.dataset.shown !== {id} || {SHOWN}.dataset.state !== 'prepared')");
    loop {
        look(hands).await;
        hands.press(&["ctrl+Enter"]).await;
        hands.until("it is decided, or held", &format!("{decided} || {}", there("[data-check]"))).await;
        if hands.is(&decided).await {
            return;
        }
        hands.refused += 1;
    }
}

/// One request of Awaiting, by what is on the screen: answered when something else is shown, or nothing waits any more.
async fn one(hands: &mut Hands<'_>) {
    hands.until("what is shown was read", &format!("{ARMED} && {SHOWN}.dataset.state === 'prepared'")).await;
    let id = hands.window.eval(&format!("{SHOWN}.dataset.shown")).await;
    let kind = if hands.is(&there("[data-do=approve-all]")).await {
        hands.press(&["ctrl+shift+Enter"]).await;
        "bundle"
    } else if hands.is("document.querySelector('[data-pane]').textContent.includes('wi1low')").await {
        hands.press(&["c"]).await;
        hands.until("the tick has the focus", TICK).await;
        hands.press(&["x"]).await;
        hands.until("it asks for a reason", &there("dialog[open] [data-do=reject]")).await;
        hands.press(&["Tab"]).await;
        hands.until("Reject has the focus", "document.activeElement.dataset.do === 'reject'").await;
        hands.press(&["Enter"]).await;
        hands.until("the dialog has closed", NO_DIALOG).await;
        "forged"
    } else {
        approve(hands).await;
        if hands.looked > 0 { "risky" } else { "plain" }
    };
    hands
        .until("it is decided", &format!("{SHOWN}.dataset.shown !== {id} || {SHOWN}.dataset.state !== 'prepared'"))
        .await;
    hands.done(kind);
}

/// The first draft of the story comes back, since its customer wrote again.
async fn the_stale_one(hands: &mut Hands<'_>, cli: &Cli) {
    hands.until("the mailbox told that the customer wrote again", &counted("needs-review", 1)).await;
    hands.since = Instant::now();
    hands.press(&["g", "r"]).await;
    hands.until("it can be decided", &there("[data-do=confirm]")).await;
    hands.press(&["ctrl+Enter"]).await;
    hands.until("it is in Awaiting again", "location.hash.startsWith('#/awaiting/')").await;
    hands.until("what is shown can be read", &format!("{ARMED} && {SHOWN}.dataset.state === 'prepared'")).await;
    let id = hands.window.eval(&format!("{SHOWN}.dataset.shown")).await;
    let id = id.as_str().expect("an action").to_owned();
    assert_eq!(state(&cli.ok(&["show", &id])), "prepared");
    approve(hands).await;
    // Its first approval was counted as a plain one; it took that key too.
    hands.pressed += 1;
    hands.done("stale");
    until_state(cli, &id, "accepted").await;
}

/// The customer says on the phone that nothing came: a person signs that, and the same bytes go.
async fn the_unknown_one(hands: &mut Hands<'_>, cli: &Cli, id: &str) {
    hands.since = Instant::now();
    hands.press(&["g", "u"]).await;
    hands.until("the choices are shown", &there("[data-offer=did_not_happen] button")).await;
    hands.press(&["p"]).await;
    hands.until("evidence is asked for", "document.activeElement.matches('dialog[open] textarea')").await;
    hands.press(&["shift+Tab", "Down"]).await;
    hands.until("the other verdict is chosen", &there("dialog input[value=did_not_happen]:checked")).await;
    hands.press(&["Tab"]).await;
    hands.window.type_text("She says on the phone that nothing came.").await;
    hands.press(&["Tab", "Tab"]).await;
    hands.until("the signature has the focus", "document.activeElement.dataset.do === 'record'").await;
    hands.press(&["Enter"]).await;
    hands.until("the dialog has closed", NO_DIALOG).await;
    hands.done("unknown");
    until_state(cli, id, "accepted").await;
}

fn counted(view: &str, n: usize) -> String {
    format!("(document.querySelector('nav a[href=\"#/{view}\"] .nav__n')?.textContent ?? '0') === '{n}'")
}

/// Every message at the mailbox is one that was approved here, and there once.
fn each_went_once(cli: &Cli, sandbox: &Sandbox) {
    let all = cli.ok(&["list", "--limit", "100"]);
    let mut wanted = 0;
    for row in all["actions"].as_array().expect("a list") {
        let doc = cli.ok(&["show", row["id"].as_str().expect("an id")]);
        let key = doc["idempotency_key"].as_str().expect("a key");
        let there = sandbox.effects_with_header("X-Countersign-Key", key).len();
        let approved = usize::from(!doc["payload"]["cc"].to_string().contains("wi1low"));
        assert_eq!(there, approved, "{doc:#}");
        assert_eq!(state(&doc), if approved == 1 { "accepted" } else { "rejected" });
        wanted += approved;
    }
    // Thirty requests less the forged one, two more of the bundle, and yesterday's.
    assert_eq!((wanted, sandbox.effects().len()), (30 - 1 + 2 + 1, wanted));
}

fn compared(spent: &BTreeMap<&'static str, Vec<Spent>>) {
    let (mut ours, mut theirs, mut drafts) = (0, 0, 0);
    println!("{:>8} {:>7} {:>11} {:>8} {:>9}", "kind", "drafts", "keys/draft", "mock-up", "s/draft");
    for (kind, all) in spent {
        let (keys, mocked) = all.iter().fold((0, 0), |sum, one| (sum.0 + one.keys, sum.1 + one.mocked));
        let (many, seconds) = (all.len() as f64, all.iter().map(|one| one.time.as_secs_f64()).sum::<f64>());
        println!(
            "{kind:>8} {:>7} {:>11.1} {:>8.1} {:>9.1}",
            all.len(),
            keys as f64 / many,
            mocked as f64 / many,
            seconds / many
        );
        for one in all {
            assert!(one.keys <= one.mocked, "a {kind} draft took {} keys, and {} in the mock-up", one.keys, one.mocked);
        }
        (ours, theirs, drafts) = (ours + keys, theirs + mocked, drafts + all.len());
    }
    println!("{ours} keys for {drafts} drafts: {:.2} each; the mock-up takes {theirs}", ours as f64 / drafts as f64);
    assert!(ours < theirs, "{ours} keys, and {theirs} in the mock-up");
    let kinds: Vec<&str> = spent.keys().copied().collect();
    assert_eq!(kinds, ["bundle", "forged", "plain", "risky", "stale", "unknown"], "all of them were met");
}

#[tokio::test(flavor = "multi_thread")]
async fn r37_a_morning_of_thirty_drafts_is_cleared_by_keys_alone_and_each_goes_once() {
    let dir = Scratch::new("");
    let home = dir.join("home");
    let session = Session::with_keyring();
    let cli = Cli::new(&home).with_env(session.env());
    let (sandbox, unknown) = stage(&cli, &home.join("sandbox")).await;

    let window = Window::open_in(session, Display::start(), &home, Vec::new()).await;
    window
        .until(
            "thirty requests wait, and one is unknown",
            &format!("{} && {}", counted("awaiting", 30), counted("unknown", 1)),
        )
        .await;
    let mut hands =
        Hands { window: &window, pressed: 0, looked: 0, refused: 0, spent: BTreeMap::new(), since: Instant::now() };
    while !hands.is(&counted("awaiting", 0)).await {
        one(&mut hands).await;
        window.until("the counts follow", "true").await;
    }
    the_stale_one(&mut hands, &cli).await;
    the_unknown_one(&mut hands, &cli, &unknown).await;
    for view in ["awaiting", "on-the-way", "unknown", "needs-review"] {
        window.until(&format!("{view} is empty"), &counted(view, 0)).await;
    }
    each_went_once(&cli, &sandbox);
    compared(&hands.spent);
    window.close().await;
}
