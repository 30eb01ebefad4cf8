//! Mail and drafts that try to get out of their frame, in the real WebKit: nothing runs, nothing is fetched, nothing is
//! decided, and the approve button stays where it is.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use countersign_sandbox::story;
use fantoccini::Locator;
use serde_json::{Value, json};
use testkit::office::state;
use testkit::{Cli, Display, Scratch, Session, Window};

use crate::story::ARMED;

/// Notes every connection that is made to it, with the first line that was said. Answers nothing.
struct Listener {
    at: String,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Listener {
    fn start() -> Listener {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let at = format!("http://{}", socket.local_addr().expect("it is bound"));
        let heard = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in socket.incoming().map_while(Result::ok) {
                let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
                let mut start = [0; 200];
                let read = (&stream).read(&mut start).unwrap_or_default();
                let line = String::from_utf8_lossy(&start[..read]).lines().next().unwrap_or_default().to_owned();
                notes.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        });
        Listener { at, heard }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What a script would do if one ran: `{AT}` is the listener, `{ID}` and `{HASH}` an action that waits.
const SCRIPT: &str = "try{parent.document.body.dataset.pwned='1'}catch(e){};try{top.document.body.dataset.pwned='1'}catch(e){};\
    parent.postMessage('pwned','*');top.postMessage({cmd:'approve'},'*');(new Image).src='{AT}/script';\
    fetch('{AT}/fetch').catch(()=>0);window.open('{AT}/window');\
    for(const w of [window,parent,top]){try{w.__TAURI_INTERNALS__.invoke('approve',{id:'{ID}',payloadHash:'{HASH}'})}catch(e){};\
    try{w.__TAURI_INTERNALS__.postMessage('{}')}catch(e){};try{w.webkit.messageHandlers.ipc.postMessage('{}')}catch(e){}};\
    for(const u of ['ipc://localhost/approve','http://ipc.localhost/approve','tauri://localhost/index.html'])\
    fetch(u,{method:'POST',headers:{'Content-Type':'application/json'},body:JSON.stringify({id:'{ID}',payloadHash:'{HASH}'})}).catch(()=>0)";

/// Name and HTML. `{S}` is the script above, in an attribute's quoting; `{LONG}` fills the frame, so that a click in its
/// middle meets what surrounds it.
const CORPUS: &[(&str, &str)] = &[
    ("script", "<script>{S}</script><script src='{AT}/file.js'></script><p>Hello</p>"),
    (
        "handlers",
        "<body onload=\"{S}\"><img src=x onerror=\"{S}\"><p onclick=\"{S}\" onmouseover=\"{S}\">{LONG}</p><details open ontoggle=\"{S}\">x</details><input autofocus onfocus=\"{S}\"><video onloadstart=\"{S}\" src=x></video><style onload=\"{S}\"></style>",
    ),
    ("javascript-link", "<a href=\"javascript:{S}\">{LONG}</a>"),
    ("javascript-link-disguised", "<a href=\"&#1;java&#10;script&colon;{S}\" target=_top>{LONG}</a>"),
    ("data-link", "<a href=\"data:text/html,<script>{S}</script>\" target=_top>{LONG}</a>"),
    (
        "svg",
        "<svg onload=\"{S}\"><script>{S}</script><a xlink:href=\"javascript:{S}\"><text x=20 y=20>{LONG}</text></a><image href='{AT}/svg.png'/><use href='{AT}/use.svg#x'/><animate attributeName=href values=\"javascript:{S}\"/><foreignObject><iframe srcdoc=\"<script>{S}</script>\"></iframe></foreignObject></svg>",
    ),
    (
        "math",
        "<math><mtext><table><mglyph><style><img src=x onerror=\"{S}\"></style></mglyph></table></mtext><maction actiontype=statusline xlink:href=\"javascript:{S}\">{LONG}</maction></math>",
    ),
    (
        "srcdoc",
        "<iframe srcdoc=\"<script>{S}</script><img src='{AT}/srcdoc'>\"></iframe><iframe src=\"javascript:{S}\"></iframe><iframe src='{AT}/frame'></iframe><iframe src='tauri://localhost/index.html'></iframe>",
    ),
    (
        "refresh",
        "<meta http-equiv=refresh content='0;url={AT}/refresh'><meta http-equiv=refresh content=\"0;url=javascript:{S}\"><p>Hello</p>",
    ),
    ("refresh-own", "<meta http-equiv=refresh content='0;url=tauri://localhost/index.html#/settings'><p>Hello</p>"),
    ("base", "<base href='{AT}/' target=_top><a href='base'>{LONG}</a><img src='pixel.gif'>"),
    (
        "objects",
        "<object data='{AT}/object'><embed src='{AT}/embed'></object><object data=\"javascript:{S}\"></object><embed src=\"data:text/html,<script>{S}</script>\"><applet code=x archive='{AT}/a.jar'></applet>",
    ),
    (
        "form",
        "<form action='{AT}/form' method=post target=_top><input name=a value=b><button formaction='{AT}/formaction'>{LONG}</button></form>",
    ),
    (
        "form-own",
        "<form action='ipc://localhost/approve' method=post><input name=id value='{ID}'><input name=payloadHash value='{HASH}'><button>{LONG}</button></form>",
    ),
    (
        "image",
        "<img src='{AT}/img'><img srcset='{AT}/set 1x, {AT}/set2 2x' src=''><picture><source srcset='{AT}/source'><img></picture><input type=image src='{AT}/input'>",
    ),
    (
        "css",
        "<style>@import '{AT}/import.css';@font-face{font-family:f;src:url({AT}/font)}body{background:url({AT}/css);font-family:f}p::after{content:url({AT}/content)}</style><link rel=stylesheet href='{AT}/sheet.css'><p style=\"background-image:url({AT}/style);list-style:url({AT}/list);cursor:url({AT}/cursor),auto\">Hello</p>",
    ),
    (
        "background",
        "<body background='{AT}/body'><table background='{AT}/table'><tr background='{AT}/tr'><td background='{AT}/td'>x</td></tr></table>",
    ),
    (
        "media",
        "<video poster='{AT}/poster' src='{AT}/video' autoplay><track src='{AT}/track' default></video><audio src='{AT}/audio' autoplay preload=auto></audio><video><source src='{AT}/vsource'></video>",
    ),
    (
        "hints",
        "<link rel=preload as=image href='{AT}/preload'><link rel=prefetch href='{AT}/prefetch'><link rel=preconnect href='{AT}'><link rel=dns-prefetch href='{AT}'><link rel=modulepreload href='{AT}/module'><link rel=icon href='{AT}/icon'><link rel=manifest href='{AT}/manifest'><link rel=prerender href='{AT}/prerender'>",
    ),
    ("ping", "<a href='{AT}/ping-target' ping='{AT}/ping'>{LONG}</a>"),
    ("top", "<a href='{AT}/top' target=_top>{LONG}</a>"),
    ("parent", "<a href='{AT}/parent' target=_parent>{LONG}</a>"),
    ("own-page", "<a href='tauri://localhost/index.html#/settings' target=_top>{LONG}</a>"),
    ("new-window", "<a href='{AT}/blank' target=_blank>{LONG}</a>"),
    ("named-window", "<a href='{AT}/named' target=evil rel=opener>{LONG}</a>"),
    ("itself", "<a href='{AT}/self'>{LONG}</a>"),
    (
        "other-program",
        "<a href='countersign://action/{ID}' target=_top>{LONG}</a><iframe src='countersign://action/{ID}'></iframe>",
    ),
    (
        "cover-fixed",
        "<div style='position:fixed;inset:0;width:100vw;height:100vh;z-index:2147483647;background:#fff'><button>Approve</button></div><p>Hello</p>",
    ),
    (
        "cover-margins",
        "<style>html,body{margin:-4000px;overflow:visible}div{position:absolute;top:-9999px;left:-9999px;width:30000px;height:30000px;z-index:2147483647;background:red}</style><div>x</div>",
    ),
    (
        "cover-large",
        "<table width=30000 height=30000 bgcolor=red><tr><td>x</td></tr></table><pre>{LONG}{LONG}{LONG}</pre><img width=30000 height=30000 src='data:image/gif;base64,R0lGODlhAQABAIAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw=='>",
    ),
    (
        "cover-layer",
        "<dialog open style='position:fixed;inset:0;width:100%;height:100%'>Approve</dialog><div popover=manual id=p style='inset:0;position:fixed'>x</div><button popovertarget=p>{LONG}</button><marquee>x</marquee><fieldset style='position:fixed'>x</fieldset>",
    ),
    (
        "unclosed",
        "</body></html></iframe><div style='position:fixed;inset:0;z-index:9'>x</div>\"'><img src='{AT}/unclosed' onerror=\"{S}\"><!-- <plaintext>",
    ),
];

/// The draft with which everything is compared: its customer's name and subject are markup too.
fn proposal(name: &str, html: &str, number: usize) -> Value {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_secs();
    let mut proposal = story::conversations(i64::try_from(now).expect("a date")).remove(0).proposal;
    proposal["event_id"] = format!("hostile-{number}").into();
    proposal["request_id"] = format!("hostile-{name}").into();
    let message_id = format!("<hostile-{number}@sample.example>");
    let talk = &mut proposal["conversation"];
    talk["message_id"] = message_id.clone().into();
    talk["subject"] = format!("<img src=x onerror=alert(1)> {name}").into();
    talk["from"]["name"] = "<script>alert(1)</script>Robin".into();
    talk["html"] = html.into();
    let payload = &mut proposal["actions"][0]["payload"];
    payload["in_reply_to"] = message_id.clone().into();
    payload["references"] = json!([message_id]);
    payload["html"] = html.into();
    proposal
}

/// What must not move: everything of each action that a decision would change, and what is set up.
fn decided(cli: &Cli, ids: &BTreeMap<&str, String>) -> Value {
    let actions = ids.values().map(|id| {
        let doc = cli.ok(&["show", id]);
        assert_eq!(state(&doc), "prepared", "{id}");
        json!([
            doc["payload_hash"],
            doc["payload_version"],
            doc["approvals"],
            doc["attempts"],
            doc["journal"],
            doc["revised_by"]
        ])
    });
    json!([actions.collect::<Vec<_>>(), cli.ok(&["destination", "list"]), cli.ok(&["source", "list"])])
}

const FRAME: &str = ".mailframe";
/// The approve button is on top at its own place: in the bar at the foot of the window, at its middle and its corners.
const ON_TOP: &str = "(() => {
    const button = document.querySelector('[data-do=approve]'), bar = button.closest('footer').getBoundingClientRect();
    const b = button.getBoundingClientRect();
    if (Math.abs(bar.bottom - innerHeight) > 1 || b.top < bar.top || b.bottom > bar.bottom || b.right > innerWidth || b.height < 24) return false;
    const points = [[(b.left + b.right) / 2, (b.top + b.bottom) / 2], [b.left + 5, b.top + 5], [b.right - 5, b.bottom - 5]];
    return points.every(([x, y]) => button.contains(document.elementFromPoint(x, y)));
})()";
const UNTOUCHED: &str =
    "document.body.dataset.pwned === undefined && window.__heard.length === 0 && location.protocol === 'tauri:'";

/// Opens one of the action's views and clicks into the middle of each of its frames, as somebody would who follows a link.
async fn lured(window: &Window, name: &str, view: &str) {
    let frames = window.client().find_all(Locator::Css(FRAME)).await.expect("the page answers");
    for (n, frame) in frames.iter().enumerate() {
        let clicked = frame.click().await;
        window.frames().await;
        let untouched = window.eval(UNTOUCHED).await;
        assert_eq!(
            untouched,
            Value::Bool(true),
            "{name}, {view}, frame {n} ({clicked:?}): {}",
            window.eval("JSON.stringify([location.href, window.__heard])").await
        );
    }
    let windows = window.client().windows().await.expect("the driver answers");
    assert_eq!(windows.len(), 1, "{name}, {view}: a window was opened");
}

async fn go(window: &Window, to: &str) {
    window.eval(&format!("(location.hash = {})", json!(to))).await;
    window.frames().await;
}

/// Waits until the page has had time to load what it would: its own clock, and the frame's document is there.
async fn settled(window: &Window, many: usize) {
    let there = format!("document.querySelectorAll('{FRAME}').length >= {many}");
    window.until("the formatted parts are shown", &there).await;
    for _ in 0..3 {
        window.frames().await;
    }
}

async fn every_view(window: &Window, name: &str, id: &str) {
    go(window, &format!("#/awaiting/{id}")).await;
    window
        .until("the draft is shown", &format!("document.querySelector('[data-shown]').dataset.shown === '{id}'"))
        .await;
    window.until("what is shown could be read", ARMED).await;
    settled(window, 1).await;
    if window.eval("document.querySelector('.col--theirs .colhead button') !== null").await == Value::Bool(true) {
        window.eval("document.querySelector('.col--theirs .colhead button').click()").await;
        settled(window, 2).await;
    }
    let top = window.eval(ON_TOP).await;
    assert_eq!(
        top,
        Value::Bool(true),
        "{name}: the approve button is covered or elsewhere; {}",
        window.picture(&format!("hostile-{name}")).await.display()
    );
    lured(window, name, "review").await;
    assert_eq!(window.eval(ON_TOP).await, Value::Bool(true), "{name}: after the clicks");

    // The clicks left the focus in the last frame, which tells nobody of keys.
    window.eval("document.querySelector('[data-do=raw]').click()").await;
    window.until("every form is offered", "document.querySelector('dialog[open] [data-form=html]') !== null").await;
    window.eval("document.querySelector('dialog[open] [data-form=html]').click()").await;
    window
        .until("the formatted form is shown", &format!("document.querySelector('dialog[open] {FRAME}') !== null"))
        .await;
    settled(window, 1).await;
    window.press(&["Escape"]).await;
    window.until("the dialog has closed", "document.querySelector('dialog[open]') === null").await;

    go(window, &format!("#/edit/{id}")).await;
    window.until("the editor is open", "document.querySelector('[data-draft]') !== null").await;
    for _ in 0..3 {
        window.frames().await;
    }
    lured(window, name, "editor").await;
}

async fn shown(home: &Path, session: Session) -> Window {
    let window = Window::open_in(session, Display::start(), home, Vec::new()).await;
    window.until("drafts wait", "document.querySelector('[role=option]') !== null").await;
    let hear = "(window.__heard = [], addEventListener('message', (e) => window.__heard.push(String(e.data))), true)";
    window.eval(hear).await;
    window
}

#[tokio::test(flavor = "multi_thread")]
async fn f35_hostile_mail_and_drafts_run_nothing_fetch_nothing_cover_nothing_and_decide_nothing() {
    let dir = Scratch::new("");
    let home = dir.join("home");
    let session = Session::with_keyring();
    let cli = Cli::new(&home).with_env(session.env());
    cli.ok(&["init", "--owner", "Noor Brackley", "--sandbox", "--no-passphrase"]);
    let plain = propose(&cli, &proposal("victim", "<p>Hello</p>", 0));
    let hash = cli.ok(&["show", &plain])["payload_hash"].as_str().expect("a hash").to_owned();
    let listener = Listener::start();
    let long = "Follow this. ".repeat(150);
    let mut ids = BTreeMap::from([("victim", plain.clone())]);
    for (n, (name, html)) in CORPUS.iter().enumerate() {
        let html = html.replace("{S}", SCRIPT).replace("{LONG}", &long);
        let html = html.replace("{AT}", &listener.at).replace("{ID}", &plain).replace("{HASH}", &hash);
        ids.insert(name, propose(&cli, &proposal(name, &html, n + 1)));
    }
    let before = decided(&cli, &ids);

    let window = shown(&home, session).await;
    for (name, id) in &ids {
        println!("{name}");
        every_view(&window, name, id).await;
        let heard = listener.heard();
        assert!(heard.is_empty(), "{name} reached the network: {heard:?}");
    }
    window.close().await;
    let heard = listener.heard();
    assert!(heard.is_empty(), "{heard:?}");
    assert_eq!(decided(&cli, &ids), before, "nothing was decided");
    // The listener would have heard.
    std::net::TcpStream::connect(listener.at.trim_start_matches("http://")).expect("it listens");
    testkit::wait::until("the listener hears", || (listener.heard().len() == 1).then_some(()));
}

fn propose(cli: &Cli, proposal: &Value) -> String {
    let answer = cli.run_input(&["propose", "-", "--source", story::SOURCE], proposal.to_string().as_bytes());
    answer.expect(0).json()["actions"][0]["id"].as_str().expect("an id").to_owned()
}
