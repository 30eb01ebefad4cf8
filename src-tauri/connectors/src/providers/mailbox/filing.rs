//! The copy in Sent: looked for first, filed at most once, from the bytes that were sent.

use super::MailboxDestination;
use super::look::{Marks, find, floor};
use crate::Filing;
use crate::letter::Letter;
use crate::login::Login;
use crate::mailbox::{Appended, Imap, MailboxError};
use countersign_domain::Countersigned;
use serde_json::Value;
use std::time::Duration;

/// How long a provider that may file the copy itself is given.
const ITS_TURN: Duration = Duration::from_secs(30);

/// Where copies are filed; None where there is no mailbox, or where the provider is known to file them itself.
pub(super) fn mailbox_for_copies(place: &MailboxDestination) -> Option<Imap<'_>> {
    place.mailbox().filter(|_| place.files_sent_itself != Some(true))
}

pub(super) async fn file_copy(
    place: &MailboxDestination,
    order: &Countersigned,
    login: &Login,
    noted: &[Value],
    since_accepted: Duration,
) -> Filing {
    let Some(mailbox) = mailbox_for_copies(place) else { return Filing::NotNeeded };
    let (Some(email), Ok(letter)) = (order.sealed().payload().email(), Letter::open(order.wire())) else {
        return Filing::Failed { why: "the stored request is not an email".into(), signed_out: false };
    };
    let marks = Marks::of(order, &email);
    let filed = async {
        let mut session = mailbox.open(login).await?;
        let folder = mailbox.sent(&mut session).await?;
        let mark = session.open(&folder).await?;
        let from = floor(noted, "sent", mark.uid_validity);
        if find(&mut session, &marks, from).await?.is_some() {
            session.leave().await;
            return Ok(Filing::AlreadyPresent { folder });
        }
        if place.files_sent_itself.is_none() && since_accepted < ITS_TURN {
            session.leave().await;
            return Ok(Filing::Waiting { again_in: ITS_TURN - since_accepted });
        }
        match session.append(&folder, letter.message).await {
            Appended::Stored { uid } => {
                session.leave().await;
                Ok(Filing::Filed { folder, uid })
            }
            Appended::Not(why) => Err(why),
            Appended::Unclear => {
                // It may be there; a second one would be a second copy. So it is looked for, on a fresh connection.
                let mut session = mailbox.open(login).await?;
                let mark = session.open(&folder).await?;
                let from = floor(noted, "sent", mark.uid_validity);
                match find(&mut session, &marks, from).await? {
                    Some((headers, _)) => Ok(Filing::Filed { folder, uid: Some(headers.uid) }),
                    None => Err(MailboxError::Lost),
                }
            }
        }
    };
    filed.await.unwrap_or_else(|e: MailboxError| Filing::Failed { why: e.text(), signed_out: e.is_login() })
}
