//! Who may knock at all: `Host` and `Origin` are compared exactly, before anything is routed (F51).
//!
//! A web page can make a browser speak to this port under a name it controls (DNS rebinding) or from a foreign page. Both
//! show in these headers, and neither is ever answered with more than 403.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::Response;

use super::refuse;

/// The names this door answers to: loopback and the port it really listens on.
#[derive(Clone, Debug)]
pub(super) struct Names {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Names {
    pub(super) fn of(port: u16) -> Names {
        let hosts: Vec<String> = ["127.0.0.1", "[::1]", "localhost"].iter().map(|h| format!("{h}:{port}")).collect();
        let origins = hosts.iter().map(|h| format!("http://{h}")).collect();
        Names { hosts, origins }
    }

    /// The header that is not ours, if any.
    fn stranger(&self, headers: &HeaderMap, uri: &Uri) -> Option<&'static str> {
        let same = |name: &str, wanted: &[String]| wanted.iter().any(|w| w == name);
        let mut hosts = headers.get_all(header::HOST).iter();
        let one_of_ours = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().is_ok_and(|host| same(host, &self.hosts)),
            // No Host, or two of them: whose would count is a guess.
            _ => false,
        };
        // A request line may name a host too (`GET http://evil.example/ HTTP/1.1`), and then it counts as well.
        let line_is_ours = uri.authority().is_none_or(|a| same(a.as_str(), &self.hosts));
        if !one_of_ours || !line_is_ours {
            return Some("Host");
        }
        let origins_are_ours = headers
            .get_all(header::ORIGIN)
            .iter()
            .all(|origin| origin.to_str().is_ok_and(|origin| same(origin, &self.origins)));
        (!origins_are_ours).then_some("Origin")
    }
}

pub(super) async fn check(State(names): State<Names>, request: Request, next: Next) -> Response {
    match names.stranger(request.headers(), request.uri()) {
        None => next.run(request).await,
        Some(header) => refuse(
            StatusCode::FORBIDDEN,
            "not_permitted",
            &format!("this door answers to programs on this computer only; the {header} header names somebody else"),
            Some(header),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stranger(headers: &[(&str, &str)], uri: &str) -> Option<&'static str> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(header::HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        }
        Names::of(4711).stranger(&map, &uri.parse().unwrap())
    }

    #[test]
    fn f51_only_exact_loopback_names_with_the_port_pass() {
        for ours in ["127.0.0.1:4711", "[::1]:4711", "localhost:4711"] {
            assert_eq!(stranger(&[("host", ours)], "/v1/proposals"), None, "{ours}");
        }
        let others =
            ["evil.example:4711", "127.0.0.1", "127.0.0.1:4712", "localhost.:4711", "127.0.0.1:4711.evil.example", ""];
        for other in others {
            assert_eq!(stranger(&[("host", other)], "/v1/proposals"), Some("Host"), "{other}");
        }
        assert_eq!(stranger(&[], "/v1/proposals"), Some("Host"), "none at all");
        assert_eq!(stranger(&[("host", "127.0.0.1:4711"), ("host", "evil.example")], "/"), Some("Host"), "two");
        assert_eq!(stranger(&[("host", "127.0.0.1:4711")], "http://evil.example/"), Some("Host"), "absolute form");
    }

    #[test]
    fn f51_a_foreign_origin_is_refused_whatever_the_host_says() {
        let host = ("host", "127.0.0.1:4711");
        assert_eq!(stranger(&[host, ("origin", "http://127.0.0.1:4711")], "/"), None);
        for origin in
            ["https://evil.example", "null", "http://127.0.0.1:4712", "https://127.0.0.1:4711", "http://127.0.0.1"]
        {
            assert_eq!(stranger(&[host, ("origin", origin)], "/"), Some("Origin"), "{origin}");
        }
    }
}
