//! Where an HTTP destination is reached.

use crate::providers::mailbox::config::{Endpoint, Security};
use countersign_domain::canonical::sha256;

/// `https://host[:port][/path]`, or `http://` on loopback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    pub endpoint: Endpoint,
    /// What every path begins with, as it was written; empty for none. A webhook's may have a query.
    pub path: String,
}

const FORMS: &str = "must be https://HOST[:PORT][/PATH] or, on loopback only, http://HOST:PORT[/PATH]";

impl BaseUrl {
    /// Reads it. `loopback_only`: the sandbox takes servers on this machine only.
    pub fn read(text: &str, loopback_only: bool) -> Result<BaseUrl, String> {
        let (scheme, rest) = text.split_once("://").ok_or(FORMS)?;
        let (security, port) = match scheme {
            "https" => (Security::Tls, 443),
            "http" => (Security::Plain, 80),
            _ => return Err(FORMS.into()),
        };
        let (host, path) = rest.find(['/', '?']).map_or((rest, ""), |at| rest.split_at(at));
        let endpoint = Endpoint::at(security, host, port, loopback_only, FORMS)?;
        let path = if path == "/" { "" } else { path };
        if !(path.is_empty() || path.starts_with('/')) || !path.bytes().all(|b| (b'!'..=b'~').contains(&b) && b != b'#')
        {
            return Err("has a path that cannot be written into a request; percent-encode what is not ASCII".into());
        }
        Ok(BaseUrl { endpoint, path: path.to_owned() })
    }

    /// The path of a request: the base's, then `rest`, which begins with a slash or is empty. A query stays behind it.
    pub fn join(&self, rest: &str) -> String {
        let (path, query) = self.path.find('?').map_or((self.path.as_str(), ""), |at| self.path.split_at(at));
        let path = if rest.is_empty() { path } else { path.trim_end_matches('/') };
        let all = format!("{path}{rest}{query}");
        if all.starts_with('/') { all } else { format!("/{all}") }
    }

    /// As it stands in `Host`: without the port where that is the scheme's own.
    pub fn authority(&self) -> String {
        let Endpoint { security, host, port } = &self.endpoint;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        match (security, port) {
            (Security::Tls, 443) | (Security::Plain, 80) => host,
            _ => format!("{host}:{port}"),
        }
    }

    /// By what two spellings of one place are the same: the names of this machine are one, a host has no last dot, and a
    /// path ends without a slash or an empty query.
    pub fn place(&self) -> String {
        let mut same = self.clone();
        let host = same.endpoint.host.trim_end_matches('.');
        let here = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
        same.endpoint.host = if here { "127.0.0.1".to_owned() } else { host.to_owned() };
        same.path = same.path.trim_end_matches('?').trim_end_matches('/').to_owned();
        same.text()
    }

    /// For people: host, port and path, by which two receivers on one host are told apart. A query may hold a key, so of it
    /// there are a few digits that differ where it does.
    pub fn shown(&self) -> String {
        let (path, query) = self.path.split_once('?').map_or((self.path.as_str(), ""), |(path, query)| (path, query));
        let more = if query.is_empty() {
            String::new()
        } else {
            format!("?… ({})", &hex::encode(sha256(query.as_bytes()))[..6])
        };
        format!("{}{path}{more}", self.authority())
    }

    /// The whole, as it was meant.
    pub fn text(&self) -> String {
        let scheme = if self.endpoint.security == Security::Tls { "https" } else { "http" };
        format!("{scheme}://{}{}", self.authority(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r34_two_spellings_of_one_place_are_one() {
        let place = |text: &str| BaseUrl::read(text, false).unwrap_or_else(|e| panic!("{text}: {e}")).place();
        for (one, other) in [
            ("http://localhost:8080/in", "http://127.0.0.1:8080/in/"),
            ("http://[::1]:8080/in", "http://127.0.0.2:8080/in?"),
            ("https://API.example./v1/", "https://api.example:443/v1"),
        ] {
            assert_eq!(place(one), place(other));
        }
        assert_ne!(place("https://api.example/a"), place("https://api.example/b"));
        assert_ne!(place("https://api.example/a?x=1"), place("https://api.example/a?x=2"));
        assert_ne!(place("http://127.0.0.1:8080"), place("http://127.0.0.1:8081"));
    }

    #[test]
    fn r34_two_receivers_on_one_host_are_told_apart_and_no_query_is_shown() {
        let shown = |text: &str| BaseUrl::read(text, false).unwrap_or_else(|e| panic!("{text}: {e}")).shown();
        assert_eq!(shown("https://api.example"), "api.example");
        assert_eq!(shown("https://hooks.example:8443/in/orders"), "hooks.example:8443/in/orders");
        assert_eq!(shown("http://127.0.0.1:8080/a"), "127.0.0.1:8080/a");
        let (one, other) = (shown("https://h.example/in?key=canary-1"), shown("https://h.example/in?key=canary-2"));
        assert!(one != other && one.starts_with("h.example/in?… (") && !one.contains("canary"), "{one}, {other}");
    }

    #[test]
    fn f44_a_password_in_an_address_is_refused_and_never_repeated() {
        for address in [
            "https://canary:canary@api.example",
            "https://canary@api.example/in",
            "https://canary:can/ary@api.example",
            "https://canary:can?ary@api.example/in",
            "https://api.example:canary",
            "https://canary:443canary@api.example:443",
            "http://canary:canary@127.0.0.1:8080",
        ] {
            let told = BaseUrl::read(address, false).expect_err(address);
            assert!(!told.contains("canary") && !told.contains("ary"), "{address}: {told}");
            assert!(told.contains("user name or password") || told.contains("port"), "{address}: {told}");
        }
        // Behind the host an @ is a part of the path.
        assert!(BaseUrl::read("https://h.example/@team/in", false).is_ok());
    }

    #[test]
    fn r34_a_base_url_is_https_or_on_this_machine() {
        let read = |text: &str| BaseUrl::read(text, false).map(|url| (url.text(), url.join("/emails")));
        let good =
            |text: &str, whole: &str, path: &str| assert_eq!(read(text), Ok((whole.into(), path.into())), "{text}");
        good("https://api.resend.com", "https://api.resend.com", "/emails");
        good("https://API.example:8443/v1/", "https://api.example:8443/v1/", "/v1/emails");
        good("https://h.example/in?a=1", "https://h.example/in?a=1", "/in/emails?a=1");
        good("http://127.0.0.1:8080", "http://127.0.0.1:8080", "/emails");
        good("http://[::1]:8080/x", "http://[::1]:8080/x", "/x/emails");
        for bad in [
            "http://api.example",
            "ftp://127.0.0.1",
            "api.example",
            "https://user:pass@api.example",
            "https://api.example/a b",
            "https://api.example/#x",
            "https://api.example:0",
            "https://",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert!(BaseUrl::read("https://api.example", true).is_err(), "the sandbox stays on this machine");
    }
}
