//! A login. Never printed, never stored here.

use std::fmt;

#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    pub username: String,
    pub secret: String,
    /// The secret is an access token (RFC 6750) and no password. Where a protocol has another command for it, that is used.
    pub bearer: bool,
}

impl Login {
    pub fn new(username: impl Into<String>, secret: impl Into<String>) -> Self {
        Login { username: username.into(), secret: secret.into(), bearer: false }
    }

    pub fn token(username: impl Into<String>, token: impl Into<String>) -> Self {
        Login { bearer: true, ..Login::new(username, token) }
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login(…)")
    }
}
