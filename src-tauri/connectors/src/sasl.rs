//! Signing in to a mail server with an access token: OAUTHBEARER (RFC 7628) and its forerunner XOAUTH2
//! (developers.google.com/workspace/gmail/imap/xoauth2-protocol), which some providers have alone.

use crate::login::Login;
use crate::providers::mailbox::config::Endpoint;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bearer {
    OAuthBearer,
    XOAuth2,
}

impl Bearer {
    /// The standard one where it is offered.
    pub(crate) fn of(offered: impl Fn(&str) -> bool) -> Option<Bearer> {
        [Bearer::OAuthBearer, Bearer::XOAuth2].into_iter().find(|mechanism| offered(mechanism.name()))
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Bearer::OAuthBearer => "OAUTHBEARER",
            Bearer::XOAuth2 => "XOAUTH2",
        }
    }

    /// The client's first message. None: user name or token has a character that would end it early.
    pub(crate) fn message(self, login: &Login, server: &Endpoint) -> Option<String> {
        let Login { username, secret, .. } = login;
        if username.chars().any(char::is_control) || !secret.bytes().all(|b| (b'!'..=b'~').contains(&b)) {
            return None;
        }
        Some(match self {
            Bearer::OAuthBearer => {
                // A name inside the header escapes its two marks (RFC 5801, 4).
                let name = username.replace('=', "=3D").replace(',', "=2C");
                let Endpoint { host, port, .. } = server;
                format!("n,a={name},\x01host={host}\x01port={port}\x01auth=Bearer {secret}\x01\x01")
            }
            Bearer::XOAuth2 => format!("user={username}\x01auth=Bearer {secret}\x01\x01"),
        })
    }

    /// What is said to the server's account of a failure, so that it gives its last word (RFC 7628, 3.2.3).
    pub(crate) const fn after_failure(self) -> &'static str {
        match self {
            Bearer::OAuthBearer => "\x01",
            Bearer::XOAuth2 => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::mailbox::config::Security;

    fn server(host: &str, port: u16) -> Endpoint {
        Endpoint { security: Security::Tls, host: host.into(), port }
    }

    #[test]
    fn r34_the_first_message_is_the_one_of_the_standards_example() {
        // RFC 7628, 4.1, and the example of Gmail's protocol page, both as they decode.
        let login = Login::token("user@example.com", "vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==");
        let message = Bearer::OAuthBearer.message(&login, &server("server.example.com", 143)).unwrap();
        let example = "n,a=user@example.com,\x01host=server.example.com\x01port=143\x01\
                       auth=Bearer vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==\x01\x01";
        assert_eq!(message, example);
        let login = Login::token("someuser@example.com", "ya29.vF9dft4qmTc2Nvb3RlckBhdHRhdmlzdGEuY29tCg");
        let message = Bearer::XOAuth2.message(&login, &server("imap.example.com", 993)).unwrap();
        let example = "user=someuser@example.com\x01auth=Bearer ya29.vF9dft4qmTc2Nvb3RlckBhdHRhdmlzdGEuY29tCg\x01\x01";
        assert_eq!(message, example);
    }

    #[test]
    fn r34_nothing_in_a_name_or_token_can_end_the_message_early() {
        let at = server("h.example", 587);
        let odd = Login::token("a=b,c@x.example", "t");
        assert!(Bearer::OAuthBearer.message(&odd, &at).unwrap().starts_with("n,a=a=3Db=2Cc@x.example,\x01"));
        for bad in [Login::token("a\x01auth=x", "t"), Login::token("a", "t\x01"), Login::token("a", "t t")] {
            assert!([Bearer::OAuthBearer, Bearer::XOAuth2].iter().all(|m| m.message(&bad, &at).is_none()));
        }
    }
}
