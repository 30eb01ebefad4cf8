//! A login. Never printed, never stored here.

use std::fmt;

#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    pub username: String,
    pub secret: String,
}

impl Login {
    pub fn new(username: impl Into<String>, secret: impl Into<String>) -> Self {
        Login { username: username.into(), secret: secret.into() }
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login(…)")
    }
}
