//! What outlives a start, and what another process can reach.

use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_sandbox::{
    Config, Control, ControlError, Fault, Habits, Point, Release, Running, Sandbox, StartError, Times,
};

use crate::peer::{MESSAGE, PASSWORD, SUPPORT, Tried, reading, sandbox, stuffed, with_recipient};

/// A folder of this test alone, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        Folder(std::env::temp_dir().join(format!("countersign-sandbox-{name}-{}", std::process::id())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_dir_all(&self.0);
    }
}

fn kept_in(directory: &Path) -> Config {
    Config { directory: Some(directory.to_owned()), ..Config::in_memory(&[(SUPPORT, PASSWORD)]) }
}

#[tokio::test]
async fn yesterdays_reply_is_still_in_sent_and_counted() -> Tried {
    let folder = Folder::new("kept");
    let sandbox = Sandbox::start(kept_in(&folder.0)).await?;
    sandbox.set_habits(Habits { files_sent: true, ..Habits::default() });
    sandbox.deliver(SUPPORT, b"Subject: hidden\r\n\r\n");
    let mut peer = with_recipient(&sandbox).await?;
    assert_eq!(peer.smtp("DATA").await, 354);
    peer.write(&stuffed(MESSAGE)).await?;
    assert_eq!(peer.code().await, 250);
    sandbox.fault_once(Fault::slow_index("INBOX"));
    sandbox.deliver(SUPPORT, b"Subject: slow\r\n\r\n");
    assert_eq!(sandbox.mailbox(SUPPORT, "INBOX").len(), 1);
    let mut imap = reading(&sandbox).await?;
    let before = imap.imap("STATUS Sent (UIDVALIDITY UIDNEXT MESSAGES)").await;
    let effects = sandbox.effects();
    sandbox.stop().await;

    let sandbox = Sandbox::start(kept_in(&folder.0)).await?;
    assert_eq!(sandbox.effects(), effects);
    assert_eq!(&*sandbox.mailbox(SUPPORT, "Sent")[0].bytes, MESSAGE.as_bytes());
    assert_eq!(sandbox.mailbox(SUPPORT, "INBOX").len(), 2, "the slow index has caught up");
    assert_eq!(sandbox.mailbox("robin@customer.example", "INBOX").len(), 1);
    let mut imap = reading(&sandbox).await?;
    assert_eq!(imap.imap("STATUS Sent (UIDVALIDITY UIDNEXT MESSAGES)").await, before);
    Ok(())
}

#[tokio::test]
async fn one_directory_has_one_sandbox_and_the_second_learns_where_the_first_is() -> Tried {
    let folder = Folder::new("one");
    assert_eq!(Running::find(&folder.0)?, None);
    let sandbox = Sandbox::start(kept_in(&folder.0)).await?;
    match Sandbox::start(kept_in(&folder.0)).await {
        Err(StartError::InUse(Some(running))) => assert_eq!(&running, sandbox.running()),
        other => return Err(format!("{other:?}").into()),
    }
    assert_eq!(Running::find(&folder.0)?.as_ref(), Some(sandbox.running()));
    sandbox.stop().await;
    assert_eq!(Running::find(&folder.0)?, None);
    // What a killed process leaves behind is not taken for a running sandbox, and the next start replaces it.
    std::fs::write(folder.0.join("running.json"), "{}")?;
    assert_eq!(Running::find(&folder.0)?, None);
    let next = Sandbox::start(kept_in(&folder.0)).await?;
    assert_eq!(Running::find(&folder.0)?.as_ref(), Some(next.running()));
    Ok(())
}

#[tokio::test]
async fn another_process_can_script_and_ask_with_the_token_only() -> Tried {
    let sandbox = sandbox().await?;
    let wrong = Control::connect(sandbox.control_addr(), "guess").await;
    assert!(matches!(wrong, Err(ControlError::Io(_))), "{wrong:?}");
    let mut control = Control::connect(sandbox.control_addr(), sandbox.control_token()).await?;
    control.set_fault(Fault::late_answer(), Times::Once).await?;
    assert_eq!(control.faults().await?, [(Fault::late_answer(), Times::Once)]);
    let mut peer = with_recipient(&sandbox).await?;
    assert_eq!(peer.smtp("DATA").await, 354);
    peer.write(&stuffed(MESSAGE)).await?;
    control.wait_for(Point::Held, 1, None).await?;
    assert_eq!(control.count(Point::Acted).await?, 1);
    assert_eq!(control.effects().await?, sandbox.effects());
    assert_eq!(control.effects_with_header("Message-ID", "<act-1@shop.example>").await?.len(), 1);
    let timed_out = control.wait_for(Point::Answered, 1, Some(Duration::from_millis(1))).await;
    assert!(matches!(timed_out, Err(ControlError::Refused(_))));
    control.release(Release::Answers).await?;
    assert_eq!(peer.code().await, 250);
    control.deliver(SUPPORT, b"Subject: again\r\n\r\n\xff").await?;
    assert_eq!(control.mailbox(SUPPORT, "INBOX").await?, [b"Subject: again\r\n\r\n\xff"]);
    control.set_habits(Habits { files_sent: true, ..Habits::default() }).await?;
    control.clear_faults().await?;
    assert!(control.appends().await?.is_empty());
    assert!(control.said().await?.iter().any(|said| said.line == "DATA"));
    assert_ne!(sandbox.control_token(), Sandbox::start(Config::default()).await?.control_token());
    assert!(!format!("{sandbox:?}").contains(sandbox.control_token()));
    Ok(())
}

#[tokio::test]
async fn a_dropped_sandbox_serves_no_more() -> Tried {
    let sandbox = sandbox().await?;
    let mut peer = with_recipient(&sandbox).await?;
    let address = sandbox.smtp_addr();
    drop(sandbox);
    assert_eq!(peer.line().await, None);
    assert_eq!(
        crate::peer::Peer::connect(address).await.err().map(|error| error.kind()),
        Some(std::io::ErrorKind::ConnectionRefused)
    );
    Ok(())
}
