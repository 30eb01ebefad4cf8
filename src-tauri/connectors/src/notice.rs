//! Telling a program at an address something, over HTTP. Nothing at a destination depends on it.
//!
//! The same connection as for a destination: fresh, no redirect, no proxy, no repeat of its own; `https`, and `http` on
//! loopback only.

use crate::transport::http::{BaseUrl, Credentials, NoAnswer, Request, Site};
use crate::transport::tls::Trust;
use std::path::Path;
use std::time::Duration;
use tokio::time::timeout;

/// Where somebody listens.
pub struct Listener(Site);

impl Listener {
    /// `ca_file`: an authority that is trusted beside the system's.
    ///
    /// # Errors
    /// Why the address, or the file, cannot be used, for people.
    pub fn at(url: &str, ca_file: Option<&Path>) -> Result<Listener, String> {
        let base = BaseUrl::read(url, false)?;
        let trust = match ca_file {
            None => Trust::load(None, Path::new(".")).map_err(|e| e.reason)?,
            Some(path) => Trust::beside_the_systems(path).map_err(|why| format!("outcome_ca_file {why}"))?,
        };
        Ok(Listener(Site::new(base, trust)))
    }

    /// Posts a JSON text and gives the answer's status.
    ///
    /// # Errors
    /// Why there is none, without addresses. It may have been heard all the same.
    pub async fn tell(&self, headers: &[(&str, String)], body: &str, limit: Duration) -> Result<u16, String> {
        let mut request = Request {
            method: "POST".into(),
            path: self.0.base().join(""),
            headers: vec![("content-type".into(), "application/json".into())],
            body: body.as_bytes().to_vec(),
        };
        for (name, value) in headers {
            request = request.with(name, value.clone());
        }
        match timeout(limit, self.0.ask(&request, &Credentials::none())).await {
            Err(_) => Err(NoAnswer::Timeout.text()),
            Ok(Err(why)) => Err(why.text()),
            Ok(Ok(reply)) => Ok(reply.status),
        }
    }
}
