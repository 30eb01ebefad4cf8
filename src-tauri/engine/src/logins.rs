//! Sign-ins that are renewed: OAuth's refresh token, its access token, and the lock under which one process renews for all.
//!
//! The keychain entry of such a destination is one document, so that what belongs together is written in one go. Whoever
//! finds the access token used up takes `logins/NAME.lock` of the home, reads the entry again, and uses what another process
//! may have saved meanwhile; only then the endpoint is asked. What it grants is saved before it is used: a provider that
//! gives a new refresh token with each answer has ended the old one by then (F42).
//!
//! Our clock says when a token is probably used up, and never that a sign-in is lost: a token that a server refuses
//! although it looks good is renewed once, and what was just granted is used whatever the clock says of it (F40).

use crate::clock::Clock;
use crate::dispatch::offline;
use crate::failure::{Code, Failure, disk};
use crate::home::{Home, private_folders};
use crate::keychain::{Keychain, LoginSecret};
use crate::unwritten::OFFLINE_PAUSE;
use countersign_connectors::{Granted, Login, NotGranted, OAuth};
use countersign_domain::{NotSent, Sighting, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::fs::{File, TryLockError};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, RwLock};
use tokio::time::{Instant, sleep, timeout};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// So long before its end an access token is renewed: an attempt takes its time.
const MARGIN: Duration = Duration::from_secs(60);
/// Longer than one exchange of another process can take.
const OTHERS_TURN: Duration = Duration::from_secs(90);
/// How long the end of the program waits for exchanges that are under way: longer than one can take, with what it gave saved.
const LAST_WAIT: Duration = Duration::from_secs(60);
/// Between two tries for the lock.
const LOCK_PEEK: Duration = Duration::from_millis(20);
const FORMAT: &str = "oauth/1";

/// Why this device cannot sign in to a destination now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoLogin {
    code: &'static str,
    /// For people; without secrets and addresses.
    pub why: String,
    /// Asking again before a person signed in is pointless.
    pub signed_out: bool,
    retry_after: Option<Duration>,
    /// It may have been asked, and what it answered is not known.
    unheard: bool,
}

impl NoLogin {
    /// This device holds no secret for it.
    pub(crate) fn missing() -> NoLogin {
        let why = "this device holds no login for the destination".to_owned();
        NoLogin { code: "login:missing", why, signed_out: false, retry_after: None, unheard: false }
    }

    /// Whether nothing was ever handed over here.
    pub(crate) fn is_missing(&self) -> bool {
        self.code == "login:missing"
    }

    fn sign_in(why: impl Into<String>) -> NoLogin {
        NoLogin { code: "login:sign_in", why: why.into(), signed_out: true, retry_after: None, unheard: false }
    }

    fn later(why: impl Into<String>, retry_after: Option<Duration>) -> NoLogin {
        NoLogin { code: "oauth:unreached", why: why.into(), signed_out: false, retry_after, unheard: false }
    }

    /// What it makes of an attempt: not sent, not counted, and the destination rests.
    pub(crate) fn not_sent(self) -> NotSent {
        NotSent { retry_after: self.retry_after, ..offline(self.code, &self.why) }
    }

    pub(crate) fn sighting(self) -> Sighting {
        Sighting::CannotTell { why: self.why, signed_out: self.signed_out }
    }
}

impl From<NotGranted> for NoLogin {
    fn from(no: NotGranted) -> NoLogin {
        match no {
            NotGranted::SignIn { why } => NoLogin::sign_in(why),
            NotGranted::Later { why, retry_after } => NoLogin::later(why, retry_after),
            NotGranted::Unheard { why } => NoLogin { unheard: true, ..NoLogin::later(why, None) },
        }
    }
}

impl From<NoLogin> for Failure {
    fn from(no: NoLogin) -> Failure {
        // Not reached now is no matter of rights.
        let code = if no.code.starts_with("login:") { Code::NotPermitted } else { Code::Refused };
        Failure::new(code, no.why)
    }
}

/// A login, or why there is none.
pub(crate) type Signed<T> = Result<Result<T, NoLogin>, Failure>;

/// What the keychain holds of a sign-in.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
#[serde(deny_unknown_fields)]
struct Kept {
    countersign: String,
    refresh_token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_secret: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    access_token: Option<String>,
    /// By our clock, UTC milliseconds.
    #[serde(default)]
    obtained_at: i64,
    /// None: the endpoint did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lifetime_seconds: Option<u64>,
}

impl Kept {
    /// What was handed in: the refresh token and, on a second line, the client's secret.
    fn handed(secret: &LoginSecret) -> Result<Kept, Failure> {
        let mut lines = secret.expose().lines().map(str::trim);
        let refresh_token = lines.next().unwrap_or_default().to_owned();
        let client_secret = lines.next().filter(|line| !line.is_empty()).map(str::to_owned);
        if refresh_token.is_empty() || refresh_token.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(Failure::bad_input("secret", "the refresh token is missing, or holds a space"));
        }
        let (access_token, lifetime_seconds) = (None, None);
        let countersign = FORMAT.to_owned();
        Ok(Kept { countersign, refresh_token, client_secret, access_token, obtained_at: 0, lifetime_seconds })
    }

    fn read(secret: &LoginSecret) -> Result<Kept, Failure> {
        // The parser's error could quote what it read, so it is not passed on.
        let kept = serde_json::from_str::<Kept>(secret.expose()).ok().filter(|kept| kept.countersign == FORMAT);
        kept.ok_or_else(|| Failure::integrity("the sign-in of a destination cannot be read; sign in again"))
    }

    fn secret(&self) -> Result<LoginSecret, Failure> {
        serde_json::to_string(self).map(LoginSecret::new).map_err(|_| Failure::internal("a sign-in has no text form"))
    }

    fn renewed(&self, granted: Granted, now: Timestamp) -> Kept {
        let mut kept = self.clone();
        if let Some(token) = granted.refresh_token {
            kept.refresh_token = token;
        }
        kept.access_token = Some(granted.access_token);
        kept.obtained_at = now.millis();
        kept.lifetime_seconds = granted.lifetime.map(|life| life.as_secs());
        kept
    }

    /// Whether the access token is probably good. A clock that stands before the day it was granted was set back, and then
    /// nobody knows how old it is.
    fn is_good(&self, now: Timestamp) -> bool {
        if self.access_token.is_none() {
            return false;
        }
        let Some(life) = self.lifetime_seconds.map(Duration::from_secs) else { return true };
        let from = Timestamp::from_millis(self.obtained_at);
        from <= now.plus(MARGIN) && now < from.plus(life.saturating_sub(MARGIN.min(life / 2)))
    }
}

/// By all that was shown and where: what a person corrects is another question.
type Refusals = HashMap<(String, Kept), (NoLogin, Option<Timestamp>)>;

/// The sign-ins of one home, as this process sees them.
#[derive(Clone)]
pub(crate) struct Logins {
    keychain: Keychain,
    home: Home,
    clock: Clock,
    /// How long another process's renewal is waited for.
    patience: Duration,
    /// Granted and not in the keychain, by the refresh token it was granted for: what could not be saved, and what a form
    /// that is being tried got before it is added.
    unsaved: Arc<Mutex<HashMap<String, Kept>>>,
    /// What was not renewed, and until when nobody asks again; None: until something else is kept, or a person tries it.
    refused: Arc<Mutex<Refusals>>,
    /// One for each refresh token that a person hands over.
    trying: Arc<Mutex<HashMap<String, Arc<AsyncMutex<()>>>>>,
    /// Read by every exchange that is under way.
    under_way: Arc<RwLock<()>>,
}

impl fmt::Debug for Logins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Logins")
    }
}

/// The right to renew one account's sign-in. The operating system frees it when the process ends.
struct Turn(File);

impl Drop for Turn {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

impl Logins {
    pub(crate) fn new(keychain: Keychain, home: Home, clock: Clock) -> Logins {
        let (unsaved, refused) = (Arc::default(), Arc::default());
        let patience = OTHERS_TURN;
        Logins { keychain, home, clock, patience, unsaved, refused, trying: Arc::default(), under_way: Arc::default() }
    }

    /// Keeps what was handed over for a destination that is added or signed in to anew.
    pub(crate) async fn keep(&self, name: &str, oauth: Option<&OAuth>, secret: &LoginSecret) -> Result<(), Failure> {
        if oauth.is_none() {
            return self.keychain.put_login(name, secret).await;
        }
        let handed = Kept::handed(secret)?;
        // What it is being exchanged for right now is what is kept.
        let _alone = self.alone_with(&handed.refresh_token).await;
        // Whoever renews the old sign-in right now would write over the new one.
        let _turn = self.turn_or_refuse(name).await?;
        let tried = self.unsaved().get(&handed.refresh_token).cloned();
        let kept = tried.filter(|tried| tried.client_secret == handed.client_secret).unwrap_or_else(|| handed.clone());
        self.keychain.put_login(name, &kept.secret()?).await?;
        self.unsaved().remove(&handed.refresh_token);
        // What broke off was about the sign-in before.
        let _ = std::fs::remove_file(self.begun(name));
        Ok(())
    }

    /// What is handed over for a sign-in that is there already, with the client's secret that is kept where none is given.
    pub(crate) async fn completed(&self, name: &str, secret: &LoginSecret) -> Result<LoginSecret, Failure> {
        let mut handed = Kept::handed(secret)?;
        if handed.client_secret.is_none()
            && let Some(before) = self.keychain.login(name).await?
        {
            handed.client_secret = Kept::read(&before).ok().and_then(|kept| kept.client_secret.clone());
        }
        let more = handed.client_secret.as_deref().unwrap_or_default();
        Ok(LoginSecret::new(format!("{}\n{more}", handed.refresh_token)))
    }

    /// Signs in with what was typed, before anything is kept. What is granted stays in this process until it is added: a
    /// refresh token may be good for one exchange only.
    pub(crate) async fn try_out(&self, oauth: &OAuth, user: &str, secret: &LoginSecret) -> Signed<Login> {
        let handed = Kept::handed(secret)?;
        let alone = self.alone_with(&handed.refresh_token).await;
        let before = self.unsaved().get(&handed.refresh_token).cloned();
        let before = before.filter(|before| before.client_secret == handed.client_secret);
        if let Some(kept) = before.as_ref().filter(|kept| kept.is_good(self.clock.now())) {
            return Ok(Ok(login(user, kept)));
        }
        let (logins, oauth, typed) = (self.clone(), oauth.clone(), handed.refresh_token.clone());
        let from = before.unwrap_or(handed);
        // A person asks, and may have mended at the provider what it was refused for.
        self.refused().remove(&(oauth.client(), from.clone()));
        let kept = self.uninterrupted(async move {
            let _alone = alone;
            let kept = match logins.ask(&oauth, &from).await {
                Ok(kept) => kept,
                Err(no) => return Ok(Err(no)),
            };
            logins.unsaved().insert(typed, kept.clone());
            Ok(Ok(kept))
        });
        Ok(kept.await?.map(|kept| login(user, &kept)))
    }

    /// The login of a destination: what the keychain holds, renewed first where its time is over.
    pub(crate) async fn login(&self, name: &str, user: &str, oauth: Option<&OAuth>) -> Signed<Login> {
        let Some(secret) = self.keychain.login(name).await? else { return Ok(Err(NoLogin::missing())) };
        let Some(oauth) = oauth else { return Ok(Ok(Login::new(user, secret.expose()))) };
        let kept = Kept::read(&secret)?;
        if kept.is_good(self.clock.now()) {
            return Ok(Ok(login(user, &kept)));
        }
        let kept = self.renew(name, oauth, kept.access_token.clone()).await?;
        Ok(kept.map(|kept| login(user, &kept)))
    }

    /// A login in place of one that the destination refused although it looked good.
    pub(crate) async fn instead(&self, name: &str, refused: &Login, oauth: &OAuth) -> Signed<Login> {
        let kept = self.renew(name, oauth, Some(refused.secret.clone())).await?;
        Ok(kept.map(|kept| login(&refused.username, &kept)))
    }

    /// Renews, or takes what another one renewed. `used_up`: the access token that is not good any more.
    async fn renew(&self, name: &str, oauth: &OAuth, used_up: Option<String>) -> Signed<Kept> {
        // Whoever stops waiting for the turn has begun nothing.
        let Some(turn) = self.turn(name).await? else {
            return Ok(Err(NoLogin::later("another program has been renewing the sign-in for too long", None)));
        };
        let (logins, name, oauth) = (self.clone(), name.to_owned(), oauth.clone());
        let renewal = async move {
            let _turn = turn;
            logins.renew_in_turn(&name, &oauth, used_up).await
        };
        self.uninterrupted(renewal).await
    }

    async fn renew_in_turn(&self, name: &str, oauth: &OAuth, used_up: Option<String>) -> Signed<Kept> {
        let Some(secret) = self.keychain.login(name).await? else { return Ok(Err(NoLogin::missing())) };
        let kept = Kept::read(&secret)?;
        // What somebody else was granted meanwhile is used as it is.
        let now = self.clock.now();
        let just_granted = now.since(Timestamp::from_millis(kept.obtained_at)) < OTHERS_TURN;
        if kept.access_token.is_some() && kept.access_token != used_up && (kept.is_good(now) || just_granted) {
            return Ok(Ok(kept));
        }
        let left = self.unsaved().get(&kept.refresh_token).cloned();
        let next = match left {
            Some(next) => next,
            None => {
                // Whoever began one and did not live to its end may have been granted a new refresh token, and nobody has it.
                let begun = self.begun(name);
                let broke_off = begun.exists();
                std::fs::write(&begun, b"").map_err(|e| disk("write", &begun, &e))?;
                match self.ask(oauth, &kept).await {
                    Ok(next) => next,
                    Err(mut no) => {
                        if no.signed_out && broke_off {
                            no.why = format!(
                                "{}. An earlier renewal was begun here and never ended; what it was granted is lost",
                                no.why
                            );
                        }
                        // Where the answer is missing, this one may have been granted something, too.
                        if no.signed_out || !no.unheard {
                            let _ = std::fs::remove_file(&begun);
                        }
                        return Ok(Err(no));
                    }
                }
            }
        };
        // Before anybody uses it. Where it cannot be saved it is kept for the next try: the old one may be worth nothing.
        self.unsaved().insert(kept.refresh_token.clone(), next.clone());
        self.keychain.put_login(name, &next.secret()?).await?;
        self.unsaved().remove(&kept.refresh_token);
        // It is only a note; where it stays, a sentence too many is said one day.
        let _ = std::fs::remove_file(self.begun(name));
        Ok(Ok(next))
    }

    /// Stands for as long as an exchange has no known end.
    fn begun(&self, name: &str) -> PathBuf {
        self.home.logins().join(format!("{name}.begun"))
    }

    /// What was kept for a destination whose adding then failed. What its refresh token was exchanged for stays in this
    /// process, for the next try.
    pub(crate) async fn put_back(
        &self,
        name: &str,
        oauth: Option<&OAuth>,
        handed: &LoginSecret,
    ) -> Result<(), Failure> {
        if oauth.is_some()
            && let Some(secret) = self.keychain.login(name).await?
        {
            let (typed, kept) = (Kept::handed(handed)?, Kept::read(&secret)?);
            if kept.access_token.is_some() {
                self.unsaved().insert(typed.refresh_token.clone(), kept);
            }
        }
        self.forget(name).await
    }

    /// A no is not asked for twice: every look, every filing and every letter would ask again, and each may take its time.
    async fn ask(&self, oauth: &OAuth, kept: &Kept) -> Result<Kept, NoLogin> {
        let now = self.clock.now();
        let shown = (oauth.client(), kept.clone());
        let told = self.refused().get(&shown).cloned();
        if let Some((no, until)) = told
            && until.is_none_or(|until| now < until)
        {
            return Err(no);
        }
        let granted = match oauth.renew(&kept.refresh_token, kept.client_secret.as_deref(), now).await {
            Ok(granted) => granted,
            Err(no) => {
                let no = NoLogin::from(no);
                let until = (!no.signed_out).then(|| self.clock.now().plus(no.retry_after.unwrap_or(OFFLINE_PAUSE)));
                self.refused().insert(shown, (no.clone(), until));
                return Err(no);
            }
        };
        tracing::info!("a sign-in was renewed");
        Ok(kept.renewed(granted, self.clock.now()))
    }

    /// Waits for the lock. None: another process held it all the time.
    async fn turn(&self, name: &str) -> Result<Option<Turn>, Failure> {
        let folder = self.home.logins();
        let path = folder.join(format!("{name}.lock"));
        private_folders().create(&folder).map_err(|e| disk("make the folder", &folder, &e))?;
        let file = File::options().write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(|e| disk("open", &path, &e))?;
        let until = Instant::now() + self.patience;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Turn(file))),
                Err(TryLockError::WouldBlock) if Instant::now() < until => sleep(LOCK_PEEK).await,
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(e)) => return Err(disk("lock", &path, &e)),
            }
        }
    }

    async fn turn_or_refuse(&self, name: &str) -> Result<Turn, Failure> {
        let held = || Failure::conflict("another program has been renewing the sign-in for too long; try again");
        self.turn(name).await?.ok_or_else(held)
    }

    /// Two exchanges of one refresh token would be taken for a theft of it.
    async fn alone_with(&self, refresh_token: &str) -> OwnedMutexGuard<()> {
        let lock = {
            let mut trying = self.trying.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(trying.entry(refresh_token.to_owned()).or_default())
        };
        lock.lock_owned().await
    }

    /// To the end, also where whoever asked has stopped waiting: between the answer and the keychain nothing may be lost.
    async fn uninterrupted<T: Send + 'static>(
        &self,
        work: impl Future<Output = Signed<T>> + Send + 'static,
    ) -> Signed<T> {
        let under_way = Arc::clone(&self.under_way).read_owned().await;
        let working = tokio::spawn(async move {
            let _under_way = under_way;
            work.await
        });
        match working.await {
            Ok(done) => done,
            Err(_) => Err(Failure::internal("renewing a sign-in broke off inside the program")),
        }
    }

    /// Waits until no exchange is under way; what is granted after the end of the program would be lost.
    pub(crate) async fn settled(&self) {
        if timeout(LAST_WAIT, self.under_way.write()).await.is_err() {
            tracing::warn!("a sign-in is still being renewed; what it is granted from now on may be lost");
        }
    }

    /// Forgets a login. In turn, so that a renewal under way does not bring it back.
    pub(crate) async fn forget(&self, name: &str) -> Result<(), Failure> {
        let _turn = self.turn_or_refuse(name).await?;
        self.keychain.remove_login(name).await
    }

    fn refused(&self) -> std::sync::MutexGuard<'_, Refusals> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unsaved(&self) -> std::sync::MutexGuard<'_, HashMap<String, Kept>> {
        self.unsaved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn login(user: &str, kept: &Kept) -> Login {
    Login::token(user, kept.access_token.clone().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keychain::{MemoryStore, SecretsChoice, random};
    use countersign_domain::PersonId;

    fn kept(lifetime: Option<u64>) -> Kept {
        let handed = Kept::handed(&LoginSecret::new("refresh\nclient secret")).unwrap();
        let granted =
            Granted { access_token: "access".into(), refresh_token: None, lifetime: lifetime.map(Duration::from_secs) };
        handed.renewed(granted, Timestamp::from_millis(10_000_000))
    }

    fn good(lifetime: Option<u64>, seconds_later: i64) -> bool {
        kept(lifetime).is_good(Timestamp::from_millis(10_000_000 + seconds_later * 1000))
    }

    #[test]
    fn f40_a_token_is_used_up_by_a_margin_and_a_clock_that_was_set_back_knows_no_age() {
        assert!(good(Some(3600), 0) && good(Some(3600), 3539) && !good(Some(3600), 3540));
        assert!(good(Some(3600), -60), "clocks are corrected by less all the time");
        assert!(!good(Some(3600), -61));
        assert!(good(None, 0) && good(None, -1_000) && good(None, 1_000_000), "no end was named: the server says");
        assert!(good(Some(60), 29) && !good(Some(60), 31), "a short life is used for its first half");
        assert!(!good(Some(0), 0));
        assert!(good(Some(u64::MAX), 1) && !good(Some(1), i64::MAX / 2_000));
    }

    #[test]
    fn r39_what_is_handed_in_is_kept_as_one_document_and_nothing_else_is_taken_for_it() {
        let all = kept(Some(3600));
        let text = all.secret().unwrap();
        assert!(Kept::read(&text).unwrap() == all);
        assert_eq!((all.refresh_token.as_str(), all.client_secret.as_deref()), ("refresh", Some("client secret")));
        assert_eq!(Kept::handed(&LoginSecret::new("only\n\n")).unwrap().client_secret, None);
        for wrong in ["", "\nclient", "two words", "a\u{7}b"] {
            assert_eq!(Kept::handed(&LoginSecret::new(wrong)).err().and_then(|e| e.field).as_deref(), Some("secret"));
        }
        for damaged in ["a password", "{}", "{\"countersign\":\"oauth/2\",\"refresh_token\":\"x\"}"] {
            let told = Kept::read(&LoginSecret::new(damaged)).err().expect("it is none");
            assert!(told.message.contains("sign in again") && !told.message.contains(damaged));
        }
    }

    #[tokio::test]
    async fn f42_a_login_that_another_program_is_renewing_is_not_forgotten_behind_its_back() {
        let dir = std::env::temp_dir().join(format!("cs-logins-{}", hex::encode(random::<8>().unwrap())));
        let home = Home::at(&dir);
        let store = SecretsChoice::Memory(MemoryStore::default());
        let keychain = Keychain::create(&store, "1f", &PersonId("Noor".into()), None).await.unwrap().keychain;
        let logins = Logins { patience: Duration::ZERO, ..Logins::new(keychain.clone(), home, Clock::System) };
        keychain.put_login("mailbox", &LoginSecret::new("before")).await.unwrap();
        let others = logins.turn("mailbox").await.unwrap().unwrap();
        assert_eq!(logins.forget("mailbox").await.unwrap_err().code, Code::Conflict);
        assert!(keychain.login("mailbox").await.unwrap().is_some(), "what it saves would come back");
        drop(others);
        logins.forget("mailbox").await.unwrap();
        assert!(keychain.login("mailbox").await.unwrap().is_none());
        std::fs::remove_dir_all(dir).unwrap();
    }
}
