//! Sign-ins that are renewed (OAuth): once for all, saved before they are used, and never a reason to send twice.
//!
//! The sign-in server gives a new refresh token with each exchange and takes an old one for stolen: a second exchange of the
//! same one loses the sign-in, as it does at providers.

use crate::office::{CLIENT, MAILBOX, Office, REFRESH, ROBIN, SUPPORT, Setup, sign_in_lines, start_of_day};
use countersign_domain::{ActionId, State, Timestamp};
use countersign_engine::feed::{News, Notice};
use countersign_engine::notify::Due;
use countersign_engine::view::DestinationForm;
use countersign_engine::{
    Clock, Code, Core, Desk, Dispatcher, Feed, Home, InitArgs, LoginSecret, Notifier, OpenArgs, Passphrase, SANDBOX,
    SecretsChoice,
};
use countersign_sandbox::api::{Api, ApiFault};
use countersign_sandbox::apps::hubspot::HubSpot;
use countersign_sandbox::apps::oauth::{SignIn, Tokens};
use countersign_sandbox::{Point, Protocol, Times};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// A sign-in server, and what the office holds of it.
struct Id {
    api: Api,
    tokens: Tokens,
}

impl Id {
    async fn start(make: impl FnOnce(&mut SignIn)) -> Id {
        let mut app = SignIn::new(SUPPORT, CLIENT, None, REFRESH);
        make(&mut app);
        let tokens = app.tokens();
        let api = Api::start(Box::new(app), start_of_day().millis() / 1000).await.expect("the sign-in server starts");
        Id { api, tokens }
    }

    fn with<T>(&self, of: impl FnOnce(&mut SignIn) -> T) -> T {
        self.api.with_app(|app| of(app.as_any().downcast_mut().expect("it is the sign-in server")))
    }

    fn exchanges(&self) -> u64 {
        self.with(|id| id.exchanges())
    }
}

/// An office whose mailbox is signed in to with OAuth.
struct Signed {
    office: Office,
    id: Id,
    dispatcher: Dispatcher,
}

impl Signed {
    async fn with(make: impl FnOnce(&mut SignIn)) -> Signed {
        let id = Id::start(make).await;
        let setup = Setup { sign_in: Some(id.api.address()), told: "false", ..Setup::default() };
        let office = Office::with(setup).await;
        office.sandbox.take_tokens(id.tokens.clone());
        let dispatcher = office.dispatcher().await;
        Signed { office, id, dispatcher }
    }

    async fn new() -> Signed {
        Signed::with(|_| {}).await
    }

    async fn tick(&self) {
        let report = self.dispatcher.tick().await;
        assert!(report.failures.is_empty(), "{report:?}");
    }

    fn later(&self, by: Duration) {
        self.office.later(by);
        self.id.api.advance(by);
    }

    /// Requests of different people, so that none counts as an answer to another's thread.
    async fn approved(&self, requests: &[&str]) -> Vec<ActionId> {
        let mut ids = Vec::new();
        for request in requests {
            let id = self.office.propose_to(request, &[&format!("{request}@customer.example")]).await;
            self.office.approve(id).await;
            ids.push(id);
        }
        ids
    }

    async fn row(&self) -> countersign_engine::view::DestinationRow {
        let all = self.office.desk.destinations(None).await.expect("they are listed");
        all.into_iter().find(|d| d.name == MAILBOX).expect("it is there")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f42_five_sends_with_an_expired_token_renew_it_once_and_arrive_once_each() {
    let s = Signed::new().await;
    let ids = s.approved(&["ada", "bo", "cy", "di", "eve"]).await;
    s.later(2 * HOUR);
    s.id.tokens.end_all();
    let before = s.id.exchanges();
    for _ in 0..3 {
        s.tick().await;
    }
    assert_eq!(s.id.exchanges(), before + 1, "one renewal for all five");
    for id in ids {
        assert_eq!((s.office.state(id).await, s.office.effects(id).await), (State::Accepted, 1), "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f42_whoever_needs_a_login_at_once_gets_the_one_that_was_granted() {
    let s = Signed::new().await;
    let other = s.office.again().await;
    s.id.api.fault_once(ApiFault::answers_late());
    let places: Vec<_> =
        [&s.office.core, &other, &s.office.core, &other, &other].map(|core| core.destinations.clone()).into();
    let asking: Vec<_> =
        places.into_iter().map(|place| tokio::spawn(async move { place.reach(MAILBOX).await })).collect();
    s.id.api.wait_for(Point::Held, 1).await.expect("one of them asks");
    s.id.api.release();
    let mut logins = Vec::new();
    for one in asking {
        let reached = one.await.expect("it ends").expect("nothing broke").expect("it is signed in");
        logins.push(reached.login);
    }
    assert_eq!((s.id.exchanges(), s.id.api.requests().len()), (1, 1), "one exchange");
    assert!(logins.windows(2).all(|w| w[0] == w[1]) && logins[0].bearer);
    assert!(s.id.tokens.user(&logins[0].secret).is_some(), "it is good");
}

#[tokio::test(flavor = "multi_thread")]
async fn f42_a_refused_token_that_looks_good_is_renewed_once_before_anything_is_said() {
    for imap in [true, false] {
        let id = Id::start(|_| {}).await;
        let setup = Setup { sign_in: Some(id.api.address()), told: "false", imap, ..Setup::default() };
        let office = Office::with(setup).await;
        office.sandbox.take_tokens(id.tokens.clone());
        let dispatcher = office.dispatcher().await;
        let s = Signed { office, id, dispatcher };
        let ids = s.approved(&["ada"]).await;
        s.tick().await;
        // From now on the server knows nothing of what it gave out, an hour before its time.
        s.id.tokens.end_all();
        let before = s.id.exchanges();
        let more = s.approved(&["bo"]).await;
        s.tick().await;
        assert_eq!(s.id.exchanges(), before + 1, "imap {imap}");
        for id in ids.iter().chain(&more) {
            assert_eq!((s.office.state(*id).await, s.office.effects(*id).await), (State::Accepted, 1));
            assert_eq!(s.office.doc(*id).await.attempts.len(), 1, "the same attempt went on");
        }
        let said = s.office.sandbox.said();
        let refused = said.iter().filter(|l| l.protocol == Protocol::Smtp && l.line.starts_with("AUTH")).count();
        assert_eq!(refused, if imap { 2 } else { 3 });
        assert_eq!(s.office.sandbox.commands(Protocol::Smtp, "MAIL").len(), 2, "nothing of a mail before a good login");
        assert!(said.iter().all(|line| !line.line.contains("canary")), "the double shows no tokens either");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f42_a_lost_sign_in_sends_nothing_and_waits_for_a_person() {
    let s = Signed::new().await;
    let ids = s.approved(&["ada", "bo"]).await;
    s.id.with(|id| id.sign_in_again("canary-refresh-other"));
    for _ in 0..4 {
        s.tick().await;
        s.later(HOUR);
    }
    let asked = s.id.api.requests().len();
    assert_eq!(s.office.sandbox.commands(Protocol::Smtp, "MAIL").len(), 0);
    for id in &ids {
        assert_eq!(s.office.state(*id).await, State::Approved, "nothing was sent, and it did not count");
    }
    let row = s.row().await;
    assert_eq!(row.health, "signed_out", "{row:?}");
    assert!(row.health_text.contains("sign in again"), "{row:?}");
    s.later(HOUR);
    s.tick().await;
    assert_eq!(s.id.api.requests().len(), asked, "nobody asks again before a person signed in");
    // What was said is nowhere told: the server's words repeat the token and the address.
    let doc = s.office.doc(ids[0]).await;
    for text in [format!("{row:?}{doc:?}"), serde_json::to_string(&doc).expect("plain data")] {
        assert!(!text.contains("canary"), "{text}");
    }
    assert_holds_no_canary(&s.office.dir.path().join("home"));
    let wrong =
        s.office.desk.sign_in(MAILBOX, &LoginSecret::new("canary-wrong"), &|_| {}).await.expect_err("it is wrong");
    assert!(wrong.code == Code::NotPermitted && wrong.message.contains("sign in again"), "{wrong:?}");
    assert!(!wrong.message.contains("canary"), "{wrong:?}");
    s.office
        .desk
        .sign_in(MAILBOX, &LoginSecret::new("canary-refresh-other"), &|_| {})
        .await
        .expect("a person signs in");
    s.tick().await;
    s.tick().await;
    for id in ids {
        assert_eq!((s.office.state(id).await, s.office.effects(id).await), (State::Accepted, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r38_a_lost_sign_in_is_told_once_while_something_approved_waits_for_it() {
    let s = Signed::new().await;
    s.id.with(|id| id.sign_in_again("canary-refresh-other"));
    let mut feed = Feed::from_now(s.office.core.clone()).await.expect("a feed");
    let told = async |feed: &mut Feed| {
        let mut notices = Vec::new();
        while let Some((event, more)) = feed.poll().await.expect("it reads") {
            let aloud = event.news.iter().filter(|news| news.what == "signed_out").count();
            assert_eq!(aloud, more.iter().filter(|notice| notice.what == News::SignedOut).count());
            notices.extend(more.into_iter().filter(|notice| notice.what == News::SignedOut));
        }
        notices
    };
    s.tick().await;
    s.office.desk.pause(MAILBOX, true).await.expect("by hand");
    s.office.desk.pause(MAILBOX, false).await.expect("and on");
    assert_eq!(told(&mut feed).await, [], "nothing waits, and whoever pauses it knows");
    let ids = s.approved(&["ada", "bo"]).await;
    for _ in 0..3 {
        s.tick().await;
    }
    assert_eq!(told(&mut feed).await, [Notice { action: ids[0], what: News::SignedOut }], "the oldest that waits");
    let notifier = Notifier::new(s.office.core.clone(), |_| {});
    let bubble = notifier.words(&Due::One(Notice { action: ids[0], what: News::SignedOut })).await.expect("words");
    assert!(bubble.title.contains("sign-in") && bubble.open == Some(ids[0]), "{bubble:?}");
    assert!(!format!("{bubble:?}").contains('@'), "{bubble:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn f42_a_sign_in_server_that_is_away_is_no_failed_login() {
    let faults = [ApiFault::refuses(503), ApiFault::refuses(429), ApiFault::portal(200), ApiFault::portal(401)];
    for fault in faults.into_iter().chain([ApiFault::resets_before_acting()]) {
        let s = Signed::new().await;
        let ids = s.approved(&["ada"]).await;
        s.later(2 * HOUR);
        s.id.api.set_fault(fault.clone(), Times::Always);
        let asked = s.id.api.requests().len();
        s.tick().await;
        s.tick().await;
        let doc = s.office.doc(ids[0]).await;
        assert_eq!(s.office.state(ids[0]).await, State::Approved, "{doc:?}");
        assert_eq!(s.id.api.requests().len(), asked + 1, "it rests before it asks again: {fault:?}");
        assert_eq!(s.row().await.health, "paused", "{fault:?}");
        s.id.api.clear_faults();
        s.later(2 * MINUTE);
        s.tick().await;
        s.tick().await;
        assert_eq!((s.office.state(ids[0]).await, s.office.effects(ids[0]).await), (State::Accepted, 1), "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f42_an_exchange_whose_answer_was_lost_ends_at_a_person_and_sends_nothing() {
    let s = Signed::new().await;
    let ids = s.approved(&["ada"]).await;
    s.later(2 * HOUR);
    s.id.api.fault_once(ApiFault::resets_after_acting());
    for _ in 0..3 {
        s.tick().await;
        s.later(2 * MINUTE);
    }
    assert_eq!(s.office.state(ids[0]).await, State::Approved);
    let row = s.row().await;
    assert_eq!(row.health, "signed_out", "the old token counts as stolen, and nobody has the new one");
    for part in ["sign in again", "An earlier renewal was begun here and never ended; what it was granted is lost"] {
        assert!(row.health_text.contains(part), "{part}: {}", row.health_text);
    }
    assert_eq!(s.office.effects(ids[0]).await, 0);
    // Once a person signed in there is nothing left of it.
    s.id.with(|id| id.sign_in_again("canary-refresh-new"));
    let again = LoginSecret::new("canary-refresh-new");
    s.office.desk.sign_in(MAILBOX, &again, &|_| {}).await.expect("it is taken");
    s.later(2 * HOUR);
    s.id.with(|id| id.sign_in_again("another one"));
    s.tick().await;
    let told = s.row().await.health_text;
    assert!(told.contains("sign in again") && !told.contains("earlier renewal"), "{told}");
}

/// A CRM that takes the tokens of a sign-in server; Robin is its contact 101.
struct SignedCrm {
    office: Office,
    id: Id,
    crm: Api,
}

impl SignedCrm {
    async fn new(make: impl FnOnce(&mut SignIn)) -> SignedCrm {
        let id = Id::start(make).await;
        let office = Office::new().await;
        let mut app = HubSpot::signed_in(id.tokens.clone());
        app.put("contacts", "101", &[("email", ROBIN), ("firstname", "Robin")]);
        let crm = Api::start(Box::new(app), start_of_day().millis() / 1000).await.expect("the CRM starts");
        SignedCrm { office, id, crm }
    }

    fn table(&self) -> String {
        let sign_in = sign_in_lines(Some(self.id.api.address()));
        format!("portal = 4815162\nbase_url = \"{}\"\nanswer_timeout_seconds = 3\n{sign_in}", self.crm.base_url())
    }

    async fn added(&self) {
        let file = format!(
            "name = \"crm\"\nkind = \"hubspot\"\nenvironment = \"{SANDBOX}\"\nundo_seconds = 0\n[hubspot]\n{}",
            self.table()
        );
        let (desk, dir) = (&self.office.desk, self.office.dir.path());
        desk.add_destination(&file, dir, &LoginSecret::new(REFRESH)).await.expect("it is added");
        let effects = ["crm.note".to_owned()];
        desk.add_source("crm-agent", SANDBOX, &effects, &["crm".to_owned()], false).await.expect("a source");
        desk.test_destination("crm", None, &|_| {}).await.expect("it is tried");
    }

    async fn note(&self) -> ActionId {
        let source = self.office.intake.by_name("crm-agent").await.expect("it is known");
        let record = json!({ "type": "contact", "match": { "email": ROBIN } });
        let document = json!({ "event_id": "e1", "request_id": "r1", "actions": [
            { "step": "note", "effect": "crm.note", "destination": "crm", "payload": { "record": record, "text": "Moved" } }
        ] });
        let answer = self.office.intake.propose(&source, document.to_string().as_bytes()).await.expect("it is taken");
        answer.actions[0].id.as_ref().expect("an action").parse().expect("an id")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f42_a_token_that_is_refused_where_a_record_is_shown_is_renewed_once_too() {
    let s = SignedCrm::new(|id| id.rotates = false).await;
    s.added().await;
    let note = s.note().await;
    let before = s.id.exchanges();
    s.id.tokens.end_all();
    s.office.desk.check_parent(note).await.expect("it is asked");
    let findings = s.office.doc(note).await.findings;
    assert!(findings.iter().any(|f| f.text.contains("101")), "the record is shown: {findings:?}");
    assert_eq!(s.id.exchanges(), before + 1, "once");
    // Whose sign-in is lost is not asked for one again and again.
    s.id.with(|id| id.sign_in_again("another one"));
    let asked = s.id.api.requests().len();
    for _ in 0..3 {
        s.office.desk.check_parent(note).await.expect("it is asked");
    }
    assert!(s.id.api.requests().len() <= asked + 1, "a no is not asked for twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn f42_what_a_form_was_granted_outlives_an_adding_that_fails() {
    let s = SignedCrm::new(|_| {}).await;
    s.added().await;
    let before = s.id.exchanges();
    // The same account under another name, signed in by the same person anew.
    s.id.with(|id| id.sign_in_again("canary-refresh-typed"));
    let values = [
        ("portal", "4815162".to_owned()),
        ("base_url", s.crm.base_url()),
        ("auth", "oauth".to_owned()),
        ("token_endpoint", format!("http://{}/token", s.id.api.address())),
        ("client_id", CLIENT.to_owned()),
    ];
    let form = DestinationForm {
        name: "crm-two".into(),
        kind: "hubspot".into(),
        environment: SANDBOX.into(),
        undo_seconds: 0,
        values: values.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
        secret: "canary-refresh-typed".into(),
    };
    let desk = &s.office.desk;
    let steps = desk.probe(&form, &|_| {}).await.expect("it is tried");
    assert!(steps.iter().all(|step| step.state == "done"), "{steps:?}");
    assert!(steps[0].text.contains("used up"), "a person is told that this form is to be kept: {steps:?}");
    assert_eq!(s.id.exchanges(), before + 1);
    let refused = desk.add(&form).await.expect_err("the account is there already");
    assert_eq!(refused.code, Code::Conflict, "{refused:?}");
    desk.remove_destination("crm").await.expect("it is removed");
    desk.add(&form).await.expect("now it can be added");
    desk.test_destination("crm-two", None, &|_| {}).await.expect("what was granted is still there");
    assert_eq!(s.id.exchanges(), before + 1, "the used refresh token was not shown again");
}

#[tokio::test(flavor = "multi_thread")]
async fn f42_what_is_granted_is_saved_before_it_is_used_and_kept_until_it_can_be() {
    let id = Id::start(|_| {}).await;
    let dir = tempfile::tempdir().expect("a folder");
    let home = Home::at(dir.path().join("home"));
    let clock = Clock::manual(start_of_day());
    let secrets = dir.path().join("secrets");
    let passphrase = Passphrase::new("nine quiet lamps").expect("it is one");
    let args = InitArgs {
        owner: "Noor Brackley".into(),
        sandbox: true,
        secrets: SecretsChoice::File(secrets.clone()),
        passphrase: Some(passphrase.clone()),
    };
    home.init(args, &clock).await.expect("the home is made");
    let args = OpenArgs { passphrase: Some(passphrase), clock, ..OpenArgs::new(home.clone()) };
    let core = Core::open(args).await.expect("it opens");
    let file = format!(
        "name = \"{MAILBOX}\"\nkind = \"mailbox\"\nenvironment = \"{SANDBOX}\"\n[mailbox]\nfrom = [\"{SUPPORT}\"]\n\
         smtp = \"smtp+plain://127.0.0.1:9\"\nusername = \"{SUPPORT}\"\n{}",
        sign_in_lines(Some(id.api.address()))
    );
    let desk = Desk::new(core.clone());
    desk.add_destination(&file, dir.path(), &LoginSecret::new(REFRESH)).await.expect("it is added");
    // A folder where the new secrets file would be written.
    let obstacle = dir.path().join("secrets.new");
    std::fs::create_dir(&obstacle).expect("a folder");
    for _ in 0..2 {
        core.destinations.reach(MAILBOX).await.err().expect("what cannot be saved is not used");
    }
    std::fs::remove_dir(&obstacle).expect("it is ours");
    let reached = core.destinations.reach(MAILBOX).await.expect("nothing broke").expect("it is signed in");
    assert!(id.tokens.user(&reached.login.secret).is_some());
    assert_eq!(id.exchanges(), 1, "the one exchange was not lost");
    let text = std::fs::read_to_string(&secrets).expect("it is there");
    assert!(!text.contains("canary"), "the file is sealed");
    assert_holds_no_canary(home.dir());
}

#[tokio::test(flavor = "multi_thread")]
async fn f40_a_clock_that_jumps_neither_loops_nor_loses_a_sign_in() {
    for lifetime in [Some(3600), None, Some(0)] {
        let s = Signed::with(|id| id.lifetime = lifetime).await;
        let Clock::Manual(_) = &s.office.clock else { panic!("the test moves it") };
        s.approved(&["ada"]).await;
        s.tick().await;
        let years = |n: u64| Duration::from_secs(n * 366 * 24 * 3600);
        let begin = s.office.clock.now();
        let times: [Timestamp; 4] = [
            Timestamp::from_millis(begin.millis() - 600_000),
            begin,
            Timestamp::from_millis(begin.millis() - i64::try_from(years(10).as_millis()).expect("it fits")),
            begin.plus(years(10)),
        ];
        for now in times {
            s.office.clock.set(now);
            let before = s.id.exchanges();
            for _ in 0..3 {
                let reached = s.office.core.destinations.reach(MAILBOX).await.expect("nothing broke");
                let login = reached.expect("no clock loses a sign-in").login;
                assert!(s.id.tokens.user(&login.secret).is_some());
            }
            // A life of nothing is renewed each time it is asked for, and each time used.
            let most = if lifetime == Some(0) { 3 } else { 1 };
            assert!(s.id.exchanges() - before <= most, "{lifetime:?} {now}");
        }
        s.office.clock.set(begin);
        let id = s.approved(&["bo"]).await[0];
        s.tick().await;
        assert_eq!((s.office.state(id).await, s.office.effects(id).await), (State::Accepted, 1), "{lifetime:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f40_a_refusal_tells_when_the_clocks_are_apart() {
    let s = Signed::new().await;
    s.id.with(|id| id.sign_in_again("canary-refresh-other"));
    s.office.later(HOUR);
    let reached = s.office.core.destinations.reach(MAILBOX).await.expect("nothing broke");
    let no = reached.err().expect("it is lost");
    assert!(no.signed_out && no.why.contains("60 minutes apart"), "{no:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn f42_the_crm_never_hears_of_an_action_under_a_token_it_refuses() {
    let s = SignedCrm::new(|id| id.rotates = false).await;
    s.added().await;
    let note = s.note().await;
    let SignedCrm { office, id, crm } = &s;
    office.desk.check_parent(note).await.expect("it is asked");
    office.approve(note).await;
    let before = id.exchanges();
    id.tokens.end_all();
    let writes = crm.writes().len();
    office.dispatcher().await.tick().await;
    assert_eq!(office.state(note).await, State::Accepted);
    assert_eq!(crm.writes().len(), writes + 1, "one request of the action, under a good token");
    assert_eq!((crm.effects().len(), id.exchanges()), (1, before + 1));
    let refused = crm.requests().iter().filter(|r| r.method == "GET").count();
    assert!(refused > 0, "what was asked before it changes nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn f42_a_client_secret_that_a_person_corrected_elsewhere_is_asked_with() {
    let s = Signed::with(|id| {
        *id = SignIn::new(SUPPORT, CLIENT, Some("canary-client"), REFRESH);
        id.rotates = false;
    })
    .await;
    let ids = s.approved(&["ada"]).await;
    s.tick().await;
    assert_eq!(s.row().await.health, "signed_out", "it was added without the client's secret");
    // On the command line, while this process goes on.
    let elsewhere = Desk::new(s.office.again().await);
    let secret = LoginSecret::new(format!("{REFRESH}\ncanary-client"));
    elsewhere.sign_in(MAILBOX, &secret, &|_| {}).await.expect("a person signs in with the same refresh token");
    s.later(2 * HOUR);
    s.id.tokens.end_all();
    for _ in 0..2 {
        s.tick().await;
    }
    assert_eq!((s.office.state(ids[0]).await, s.office.effects(ids[0]).await), (State::Accepted, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn f42_what_was_mended_at_the_provider_is_asked_for_again_when_a_person_tries() {
    let s = Signed::new().await;
    let secret = LoginSecret::new(REFRESH);
    s.id.with(|id| id.sign_in_again("canary-refresh-other"));
    s.office.desk.sign_in(MAILBOX, &secret, &|_| {}).await.expect_err("it is not good");
    s.id.with(|id| id.sign_in_again(REFRESH));
    s.office.desk.sign_in(MAILBOX, &secret, &|_| {}).await.expect("the same is good now");
}

#[tokio::test(flavor = "multi_thread")]
async fn f42_a_form_that_is_tried_twice_at_once_exchanges_its_refresh_token_once() {
    let id = Id::start(|_| {}).await;
    let office = Office::new().await;
    office.sandbox.take_tokens(id.tokens.clone());
    let values = [
        ("from", "orders@shop.example".to_owned()),
        ("smtp", format!("smtp+plain://{}", office.sandbox.smtp_addr())),
        ("username", SUPPORT.to_owned()),
        ("auth", "oauth".to_owned()),
        ("token_endpoint", format!("http://{}/token", id.api.address())),
        ("client_id", CLIENT.to_owned()),
    ];
    let form = DestinationForm {
        name: "orders".into(),
        kind: "mailbox".into(),
        environment: SANDBOX.into(),
        undo_seconds: 0,
        values: values.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
        secret: REFRESH.into(),
    };
    id.api.fault_once(ApiFault::answers_late());
    let answered = async {
        id.api.wait_for(Point::Held, 1).await.expect("one of them asks");
        id.api.release();
    };
    let (one, other, ()) = tokio::join!(office.desk.probe(&form, &|_| {}), office.desk.probe(&form, &|_| {}), answered);
    for steps in [one.expect("it is tried"), other.expect("it is tried")] {
        assert!(steps.iter().all(|step| step.state != "stopped"), "{steps:?}");
    }
    assert_eq!(id.exchanges(), 1);
    office.desk.add(&form).await.expect("it is added");
    let login = office.core.destinations.reach("orders").await.expect("nothing broke").expect("it is signed in").login;
    assert!(id.tokens.user(&login.secret).is_some() && id.exchanges() == 1, "with what was granted");
}

#[test]
fn f42_the_end_of_the_program_waits_for_a_renewal_that_nobody_waits_for_any_more() {
    let around = tokio::runtime::Runtime::new().expect("a runtime");
    let s = around.block_on(Signed::new());
    s.id.api.fault_once(ApiFault::answers_late());
    let program = tokio::runtime::Runtime::new().expect("a runtime");
    program.block_on(async {
        let place = s.office.core.destinations.clone();
        let asking = tokio::spawn(async move { place.reach(MAILBOX).await.map(|reached| reached.is_ok()) });
        s.id.api.wait_for(Point::Held, 1).await.expect("it asks");
        asking.abort();
        assert!(asking.await.expect_err("whoever asked has gone").is_cancelled());
        tokio::join!(s.office.core.settled(), async { s.id.api.release() });
    });
    // Whatever still runs is cut off, as the end of the process does it.
    drop(program);
    let reached = around.block_on(async { s.office.again().await.destinations.reach(MAILBOX).await });
    let login = reached.expect("nothing broke").expect("the sign-in was not lost").login;
    assert!(s.id.tokens.user(&login.secret).is_some());
    assert_eq!((s.id.exchanges(), s.id.api.requests().len()), (1, 1), "what was granted then is used");
}

/// Reads every file below.
fn assert_holds_no_canary(folder: &Path) {
    for entry in std::fs::read_dir(folder).expect("it can be read") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            assert_holds_no_canary(&path);
            continue;
        }
        let bytes = std::fs::read(&path).expect("it can be read");
        assert!(!bytes.windows(6).any(|w| w == b"canary"), "{} holds a token", path.display());
    }
}
