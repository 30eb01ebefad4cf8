//! A HubSpot wire: what the person saw of the record, if there was one, and the request. Only the request is sent.
//!
//! ```text
//! record {"id":"4711","title":"Robin Vale","values":{"phone":""},"version":"2026-11-02T09:00:00Z"}
//! PATCH /crm/objects/2026-03/contacts/4711
//! content-type: application/json
//!
//! {"properties":{"phone":"+41 44 000 00 00"}}
//! ```

use crate::survey::Record;
use crate::transport::http::Request;
use countersign_domain::Wire;
use serde_json::Value;

pub(super) struct Sealed {
    /// None: there was none, or nobody asked.
    pub record: Option<Record>,
    pub request: Request,
}

const FIRST: &[u8] = b"record ";

pub(super) fn seal(record: Option<&Record>, request: &Request) -> Wire {
    let Some(record) = record else { return request.seal() };
    let mut bytes = FIRST.to_vec();
    let seen = serde_json::to_value(record).unwrap_or(Value::Null);
    bytes.extend_from_slice(countersign_domain::canonical::canonical(&seen).as_bytes());
    bytes.push(b'\n');
    bytes.extend_from_slice(request.seal().bytes());
    Wire::new(bytes)
}

pub(super) fn open(wire: &Wire) -> Option<Sealed> {
    let Some(rest) = wire.bytes().strip_prefix(FIRST) else {
        return Some(Sealed { record: None, request: Request::open(wire).ok()? });
    };
    let end = rest.iter().position(|b| *b == b'\n')?;
    let record = serde_json::from_slice(&rest[..end]).ok()?;
    let request = Request::open(&Wire::new(rest[end + 1..].to_vec())).ok()?;
    Some(Sealed { record: Some(record), request })
}

impl Sealed {
    pub fn body(&self) -> Value {
        serde_json::from_slice(&self.request.body).unwrap_or(Value::Null)
    }

    /// The fields that a change writes, as HubSpot takes them.
    pub fn properties(&self) -> Vec<(String, String)> {
        let body = self.body();
        let all = body["properties"].as_object().into_iter().flatten();
        all.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
    }

    /// Object and number of the record that is changed or that the new one hangs on.
    pub fn target(&self) -> Option<(String, String)> {
        if self.request.method == "PATCH" {
            let mut parts = self.request.path.rsplit('/');
            let (id, object) = (parts.next()?, parts.next()?);
            return Some((object.to_owned(), id.to_owned()));
        }
        let to = &self.body()["associations"][0];
        let object = super::render::object_of_association(to["types"][0]["associationTypeId"].as_u64()?)?;
        Some((object.to_owned(), to["to"]["id"].as_str()?.to_owned()))
    }
}
