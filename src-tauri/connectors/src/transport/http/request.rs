//! The wire of an HTTP request: method, path, content headers and body, without credentials.
//!
//! ```text
//! POST /emails
//! content-type: application/json
//! idempotency-key: 0b1d…
//!
//! {"from": …}
//! ```

use countersign_domain::Wire;

/// A request as it is stored, signed and sent. Whatever else stands on the connection (host, length, login) is added around
/// it and carries no content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Upper case: `POST`.
    pub method: String,
    /// With the query, if there is one; begins with `/`.
    pub path: String,
    /// Names in lower case, in the order they are sent.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored request is not a request of HTTP")]
pub struct NotARequest;

/// What the transport adds by itself. In a stored request it would be sent twice, or be a credential at rest.
const NOT_STORED: [&str; 9] = [
    "host",
    "content-length",
    "connection",
    "transfer-encoding",
    "authorization",
    "cookie",
    "user-agent",
    "expect",
    "upgrade",
];

impl Request {
    /// A JSON body, which is written once and here.
    pub fn json(method: &str, path: impl Into<String>, body: &serde_json::Value) -> Request {
        Request {
            method: method.to_owned(),
            path: path.into(),
            headers: vec![("content-type".into(), "application/json".into())],
            body: body.to_string().into_bytes(),
        }
    }

    /// A question without a body.
    pub fn get(path: impl Into<String>) -> Request {
        Request { method: "GET".into(), path: path.into(), headers: Vec::new(), body: Vec::new() }
    }

    pub fn with(mut self, name: &str, value: impl Into<String>) -> Request {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub fn seal(&self) -> Wire {
        let mut bytes = format!("{} {}\n", self.method, self.path).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(format!("{name}: {value}\n").as_bytes());
        }
        bytes.push(b'\n');
        bytes.extend_from_slice(&self.body);
        Wire::new(bytes)
    }

    /// Reads a wire back. What was read, sealed again, gives the same bytes: nothing in it goes unread.
    pub fn open(wire: &Wire) -> Result<Request, NotARequest> {
        let bytes = wire.bytes();
        let end = bytes.windows(2).position(|w| w == b"\n\n").ok_or(NotARequest)?;
        let head = std::str::from_utf8(&bytes[..end]).map_err(|_| NotARequest)?;
        let mut lines = head.split('\n');
        let (method, path) = lines.next().and_then(|l| l.split_once(' ')).ok_or(NotARequest)?;
        let headers = lines.map(|line| {
            let (name, value) = line.split_once(": ").ok_or(NotARequest)?;
            Ok((name.to_owned(), value.to_owned()))
        });
        let request = Request {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: headers.collect::<Result<_, NotARequest>>()?,
            body: bytes[end + 2..].to_vec(),
        };
        if request.is_sendable() && request.seal() == *wire { Ok(request) } else { Err(NotARequest) }
    }

    /// Whether every part can stand on its line of a request.
    pub fn is_sendable(&self) -> bool {
        let method = !self.method.is_empty() && self.method.bytes().all(|b| b.is_ascii_uppercase());
        let path = self.path.starts_with('/') && self.path.bytes().all(|b| (b'!'..=b'~').contains(&b) && b != b'#');
        let header = |(name, value): &(String, String)| {
            !name.is_empty()
                && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
                && !NOT_STORED.contains(&name.as_str())
                && value.bytes().all(|b| (b' '..=b'~').contains(&b))
        };
        method && path && self.headers.iter().all(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request() -> Request {
        Request::json("POST", "/v1/emails?x=1", &json!({ "subject": "Grüße\n\nund mehr" }))
            .with("idempotency-key", "k-1")
    }

    #[test]
    fn a_wire_is_read_back_as_it_was_written() {
        let wire = request().seal();
        assert!(
            wire.bytes().starts_with(b"POST /v1/emails?x=1\ncontent-type: application/json\nidempotency-key: k-1\n\n{")
        );
        assert_eq!(Request::open(&wire), Ok(request()));
        assert_eq!(Request::open(&Request::get("/x").seal()), Ok(Request::get("/x")));
    }

    #[test]
    fn f30_what_would_break_out_of_its_line_is_no_request() {
        for odd in [
            Request { path: "/x HTTP/1.1\r\nX: y".into(), ..request() },
            Request { path: "http://elsewhere.example/".into(), ..request() },
            Request { path: "/grüße".into(), ..request() },
            Request { method: "post".into(), ..request() },
            request().with("idempotency-key", "k\r\nx: y"),
            request().with("X-Upper", "y"),
            request().with("authorization", "Bearer secret"),
            request().with("host", "elsewhere.example"),
        ] {
            assert_eq!(Request::open(&odd.seal()), Err(NotARequest), "{odd:?}");
        }
        assert_eq!(Request::open(&Wire::new(b"no request".to_vec())), Err(NotARequest));
        assert_eq!(Request::open(&Wire::new(b"POST /x\nno-colon\n\n".to_vec())), Err(NotARequest));
    }
}
