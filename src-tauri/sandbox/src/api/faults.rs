//! How an HTTP provider can be told to misbehave: for which requests, whether it acts, and what it says.

use crate::Times;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Which requests a fault is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum On {
    /// Those that change something.
    Writes,
    /// Those that only ask.
    Questions,
    /// Those to a path that begins so.
    Path(String),
    /// A connection, before a word was said on it.
    Connect,
}

/// Whether the provider acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acts {
    No,
    Yes,
    /// It took the request up, and is through with it when it is released.
    WhenReleased,
}

/// What is said instead of the ordinary answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiSays {
    /// The ordinary answer.
    Normal,
    /// This status with the provider's own error body, and these headers.
    Refusal { status: u16, headers: Vec<(String, String)> },
    /// A gateway's or a portal's page.
    Page { status: u16 },
    /// This JSON.
    Json { status: u16, body: String },
    /// The ordinary status, and nothing in the body that names what was done.
    WithoutReference,
    /// The ordinary answer, and half its body.
    Truncated,
    /// The ordinary status, with a body that never ends.
    Endless,
    /// No HTTP.
    Nonsense,
    /// Nothing, for as long as the client stays.
    Silence,
    /// A TCP reset.
    Reset,
    /// A closed connection.
    Close,
    /// A refusal with this status, and the ordinary answer right behind it on the same connection.
    Twice { status: u16 },
    /// Nothing until it is released, then this.
    Held(Box<ApiSays>),
}

/// One way to misbehave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiFault {
    pub on: On,
    pub acts: Acts,
    pub says: ApiSays,
}

impl ApiFault {
    pub fn new(acts: Acts, says: ApiSays) -> ApiFault {
        ApiFault { on: On::Writes, acts, says }
    }
    /// The same for other requests.
    pub fn on(self, on: On) -> ApiFault {
        ApiFault { on, ..self }
    }
    /// The connection is closed before a word was said.
    pub fn hangs_up_at_once() -> ApiFault {
        ApiFault { on: On::Connect, acts: Acts::No, says: ApiSays::Close }
    }
    pub fn hangs_before_acting() -> ApiFault {
        ApiFault::new(Acts::No, ApiSays::Silence)
    }
    /// F53.
    pub fn hangs_after_acting() -> ApiFault {
        ApiFault::new(Acts::Yes, ApiSays::Silence)
    }
    /// It acts at once; the ordinary answer comes when it is released.
    pub fn answers_late() -> ApiFault {
        ApiFault::new(Acts::Yes, ApiSays::Held(Box::new(ApiSays::Normal)))
    }
    /// It is busy with the request until it is released, and then through with it.
    pub fn takes_its_time() -> ApiFault {
        ApiFault::new(Acts::WhenReleased, ApiSays::Normal)
    }
    pub fn resets_before_acting() -> ApiFault {
        ApiFault::new(Acts::No, ApiSays::Reset)
    }
    pub fn resets_after_acting() -> ApiFault {
        ApiFault::new(Acts::Yes, ApiSays::Reset)
    }
    pub fn closes_after_acting() -> ApiFault {
        ApiFault::new(Acts::Yes, ApiSays::Close)
    }
    /// The provider's own error with this status although it acted.
    pub fn fails_after_acting(status: u16) -> ApiFault {
        ApiFault::new(Acts::Yes, ApiSays::Refusal { status, headers: Vec::new() })
    }
    /// A gateway's page with this status although the provider behind it acted.
    pub fn gateway_after_acting(status: u16) -> ApiFault {
        ApiFault::new(Acts::Yes, ApiSays::Page { status })
    }
    /// A page with this status; the provider never saw the request.
    pub fn portal(status: u16) -> ApiFault {
        ApiFault::new(Acts::No, ApiSays::Page { status })
    }
    /// The provider says no with this status and its own body.
    pub fn refuses(status: u16) -> ApiFault {
        ApiFault::new(Acts::No, ApiSays::Refusal { status, headers: Vec::new() })
    }
    /// 429 with its own body.
    pub fn too_many(retry_after: &str) -> ApiFault {
        let headers = vec![("retry-after".to_owned(), retry_after.to_owned())];
        ApiFault::new(Acts::No, ApiSays::Refusal { status: 429, headers })
    }
    /// F04: two replies to one request.
    pub fn answers_twice(status: u16) -> ApiFault {
        ApiFault::new(Acts::Yes, ApiSays::Twice { status })
    }
    pub fn truncated_after_acting() -> ApiFault {
        ApiFault::new(Acts::Yes, ApiSays::Truncated)
    }
    pub fn endless_after_acting() -> ApiFault {
        ApiFault::new(Acts::Yes, ApiSays::Endless)
    }
    pub fn nonsense_after_acting() -> ApiFault {
        ApiFault::new(Acts::Yes, ApiSays::Nonsense)
    }
    pub fn forgets_the_reference() -> ApiFault {
        ApiFault::new(Acts::Yes, ApiSays::WithoutReference)
    }
    /// 200 with this JSON; whether it acted is the caller's word.
    pub fn says_ok_but(acts: Acts, body: &str) -> ApiFault {
        ApiFault::new(acts, ApiSays::Json { status: 200, body: body.to_owned() })
    }
}

/// The script: the first fault that fits is used.
#[derive(Default)]
pub(super) struct ApiScript {
    faults: Mutex<Vec<(ApiFault, Times)>>,
}

impl ApiScript {
    fn lock(&self) -> MutexGuard<'_, Vec<(ApiFault, Times)>> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, fault: ApiFault, times: Times) {
        if times != Times::Exactly(0) {
            self.lock().push((fault, times));
        }
    }
    pub(super) fn clear(&self) {
        self.lock().clear();
    }
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    pub(super) fn take(&self, fits: impl Fn(&On) -> bool) -> Option<ApiFault> {
        let mut faults = self.lock();
        let at = faults.iter().position(|(fault, _)| fits(&fault.on))?;
        let fault = faults[at].0.clone();
        match faults[at].1 {
            Times::Always => {}
            Times::Exactly(n) if n > 1 => faults[at].1 = Times::Exactly(n - 1),
            Times::Once | Times::Exactly(_) => drop(faults.remove(at)),
        }
        Some(fault)
    }
}
