//! The SMTP dialogue.

use super::poised::Crossed;
use crate::boot::BootTime;
use countersign_domain::Doubt;
use std::time::Duration;

pub struct SmtpPoised;
impl SmtpPoised {
    pub fn noted(&self) -> serde_json::Value {
        serde_json::Value::Null
    }
    pub(crate) async fn cross(self, _marked: BootTime, _limit: Duration) -> Crossed {
        Crossed::Broken(Doubt { code: String::new(), words: String::new() })
    }
}
pub struct LateSmtp;
impl LateSmtp {
    pub(crate) fn doubt(&self) -> Doubt {
        Doubt { code: String::new(), words: String::new() }
    }
    pub(crate) async fn read_on(self, _limit: Duration) -> Crossed {
        Crossed::Broken(self.doubt())
    }
}
