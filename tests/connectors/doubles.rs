//! Each kind with an HTTP API, connected to its double. A provider with rules of its own has an entry here; of any other
//! its folder tells what it does (`double.json`). The suite does the rest.

use std::path::Path;

use countersign_connectors::{Connector, Kind, Learned, Login, connect, kinds, parse};
use countersign_domain::Conversation;
use countersign_sandbox::api::{Api, App};
use countersign_sandbox::apps::described::{Described, Description};
use countersign_sandbox::apps::{hubspot::HubSpot, receiver::Receiver, resend::Resend};
use serde_json::{Value, json};

use crate::rig::{NOW, PARENT, ROBIN, SUPPORT, conversation};

/// A kind as one destination file sets it up.
pub struct Double {
    pub kind: &'static str,
    /// Tells two files of one kind apart.
    pub variant: &'static str,
    /// What the file says below `base_url`.
    pub table: String,
    /// Behind the address of the double.
    pub path: &'static str,
    pub secret: String,
    pub app: Box<dyn Fn() -> Box<dyn App>>,
    /// A good payload for an effect.
    pub payload: fn(&str) -> Value,
    /// The same effect with other content.
    pub other_content: fn(&str) -> Value,
    /// Whether the destination's yes is only one with its reference in it.
    pub names_its_receipt: bool,
    /// What the double does for a status that says no to this payload.
    pub refuses_with: u16,
    pub revoke: fn(&mut dyn App),
    /// How the double refuses one of two recipients: the payload with two, and what is told to the double. Only for mail.
    pub refuse_one: Option<fn(&mut dyn App)>,
}

/// A mail that every API takes; one refuses commas in names, so those are tried where each is rendered (f24) and in
/// `tests/dispatch`.
fn mail(effect: &str) -> Value {
    let mut payload = json!({
        "from": { "name": "Shop Support", "email": SUPPORT }, "to": [{ "name": "Röbin Vale", "email": ROBIN }],
        "subject": "Re: Grüße aus Zürich", "text": "Of course: Tuesday suits us.\nGrüße, 例子 🙂\n", "html": null
    });
    if effect == "email.reply" {
        payload["in_reply_to"] = PARENT.into();
    }
    payload
}

fn other_mail(effect: &str) -> Value {
    let mut payload = mail(effect);
    payload["text"] = "Wednesday, not Tuesday.".into();
    payload
}

fn app<A: App>(app: &mut dyn App) -> &mut A {
    app.as_any().downcast_mut().expect("the double is this one")
}

const SENDERS: &str = "from = [\"Shop Support <support@shop.example>\"]\n";
const WHSEC: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn receiver(variant: &'static str, table: &str, make: fn() -> Box<dyn App>) -> Double {
    Double {
        kind: "webhook",
        variant,
        table: table.into(),
        path: "/in",
        secret: WHSEC.into(),
        app: Box::new(make),
        payload: |_| json!({ "body": { "event": "slot.moved", "to": "Tuesday", "note": "Grüße, 例子" } }),
        other_content: |_| json!({ "body": { "event": "slot.moved", "to": "Wednesday" } }),
        names_its_receipt: false,
        refuses_with: 422,
        revoke: |double| app::<Receiver>(double).revoke(),
        refuse_one: None,
    }
}

/// What HubSpot takes without the record being looked up first: numbers, and a contact that is made.
fn crm(effect: &str, text: &str) -> Value {
    let robin = json!({ "type": "contact", "match": { "id": "101" } });
    match effect {
        "crm.contact.upsert" => {
            json!({ "match": { "email": "sam@other.example" }, "fields": { "city": text }, "mode": "create_only" })
        }
        "crm.deal.update" => {
            json!({ "record": { "type": "deal", "match": { "id": 7 } }, "fields": { "dealstage": text } })
        }
        "crm.task" => json!({ "record": robin, "title": "Call", "text": text }),
        "crm.email.log" => json!({ "record": robin, "subject": "Re: Grüße", "text": text }),
        _ => json!({ "record": robin, "text": text }),
    }
}

/// All of them. The suite fails for a kind that has none.
pub fn all() -> Vec<Double> {
    let mut all = own();
    for kind in kinds() {
        if !all.iter().any(|d| d.kind == kind.name) {
            all.extend(described(&kind));
        }
    }
    all
}

/// The double that a provider's folder describes.
fn described(kind: &Kind) -> Option<Double> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it has one");
    let path = here.join(format!("src-tauri/connectors/src/providers/{}/double.json", kind.name));
    let text = std::fs::read_to_string(path).ok()?;
    let is: Description = serde_json::from_str(&text).unwrap_or_else(|e| panic!("double.json of {}: {e}", kind.name));
    assert!(is.source.starts_with("https://"), "{}: where these facts are written", kind.name);
    Some(Double {
        kind: kind.name,
        variant: "",
        table: is.table.clone(),
        path: "",
        secret: is.secret.clone(),
        refuses_with: is.refuses_with,
        app: Box::new(move || Box::new(Described::new(is.clone()))),
        payload: mail,
        other_content: other_mail,
        names_its_receipt: true,
        revoke: |double| app::<Described>(double).revoke(),
        refuse_one: Some(|double| app::<Described>(double).refuses.push("gone@customer.example".into())),
    })
}

/// Those with rules of their own.
fn own() -> Vec<Double> {
    vec![
        Double {
            kind: "resend",
            variant: "",
            table: SENDERS.into(),
            path: "",
            secret: "re_good_key".into(),
            app: Box::new(|| Box::new(Resend::new("re_good_key"))),
            payload: mail,
            other_content: other_mail,
            names_its_receipt: true,
            refuses_with: 422,
            revoke: |double| app::<Resend>(double).revoke(),
            refuse_one: Some(|double| app::<Resend>(double).refuses.push("gone@customer.example".into())),
        },
        Double {
            kind: "hubspot",
            variant: "",
            table: "portal = 4815162\n".into(),
            path: "",
            secret: "pat-na1-good".into(),
            app: Box::new(|| {
                let robin = [("email", ROBIN), ("firstname", "Robin")];
                let app = HubSpot::new("pat-na1-good").prepared().with("contacts", "101", &robin);
                Box::new(app.with("deals", "7", &[("dealstage", "offer")]))
            }),
            payload: |effect| crm(effect, "Grüße, 例子 <b> 🙂\nTuesday"),
            other_content: |effect| crm(effect, "Wednesday"),
            names_its_receipt: true,
            refuses_with: 400,
            revoke: |double| app::<HubSpot>(double).revoke(),
            refuse_one: None,
        },
        receiver("promises nothing", "", || Box::new(Receiver::new(WHSEC))),
        receiver("keeps the id", "contract = \"keeps_id\"\n", || {
            let mut receiver = Receiver::new(WHSEC);
            receiver.keeps_id = true;
            Box::new(receiver)
        }),
        receiver("can be asked", "contract = \"look_up\"\n", || {
            let mut receiver = Receiver::new(WHSEC);
            receiver.can_be_asked = true;
            Box::new(receiver)
        }),
        receiver("keeps the id and can be asked", "contract = \"keeps_id_and_look_up\"\n", || {
            let mut receiver = Receiver::new(WHSEC);
            (receiver.keeps_id, receiver.can_be_asked) = (true, true);
            Box::new(receiver)
        }),
    ]
}

/// A double that runs, and the destination that was set up for it.
pub struct Stand {
    pub api: Api,
    pub connector: Box<dyn Connector>,
    pub login: Login,
}

impl Double {
    pub async fn stand(&self) -> Result<Stand, Box<dyn std::error::Error>> {
        let api = Api::start((self.app)(), NOW.millis().div_euclid(1000)).await?;
        let connector = self.connect(&api.base_url(), "", Path::new("."))?;
        Ok(Stand { api, connector, login: Login::new("", self.secret.as_str()) })
    }

    /// The destination, reached at this address; `more` goes into its table.
    pub fn connect(&self, base_url: &str, more: &str, dir: &Path) -> Result<Box<dyn Connector>, String> {
        let file = format!(
            "name = \"place\"\nkind = \"{kind}\"\nenvironment = \"sandbox\"\n[{kind}]\nbase_url = \"{base_url}{}\"\n{}{more}",
            self.path,
            self.table,
            kind = self.kind,
        );
        let told = |error: countersign_domain::json::FieldError| format!("{}: {}", error.field, error.reason);
        let config = parse(&file).map_err(told)?;
        connect(&config, dir, &Learned::default()).map_err(told)
    }

    /// What the source told, where the effect answers somebody.
    pub fn about(effect: &str) -> Option<Conversation> {
        (effect == "email.reply").then(conversation)
    }

    pub fn name(&self) -> String {
        if self.variant.is_empty() { self.kind.to_owned() } else { format!("{} ({})", self.kind, self.variant) }
    }
}
