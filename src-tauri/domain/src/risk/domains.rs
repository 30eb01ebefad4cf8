//! Domains that look like others.

use super::people::{folded_domain, is_own};
use super::{Finding, Known, Weight};
use crate::address::Mailbox;
use crate::email::EmailView;
use crate::proposal::Conversation;
use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use unicode_security::{RestrictionLevel, RestrictionLevelDetection};

/// How one domain resembles another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// The same to the eye: other letters of the same shape.
    Shape,
    /// One letter more, less, other, or two letters changed places.
    OneLetter,
    /// The known domain is only the beginning of a longer one.
    Front,
}

/// Labels shorter than this differ by one letter from many honest ones.
const SHORT: usize = 4;

/// Providers at which millions have their address, some a letter apart. None of them imitates another.
const PROVIDERS: [&str; 22] = [
    "aol.com",
    "fastmail.com",
    "gmail.com",
    "gmx.at",
    "gmx.ch",
    "gmx.com",
    "gmx.de",
    "gmx.net",
    "googlemail.com",
    "hotmail.com",
    "icloud.com",
    "live.com",
    "mac.com",
    "mail.com",
    "me.com",
    "outlook.com",
    "proton.me",
    "web.de",
    "yahoo.com",
    "ymail.com",
    "yandex.com",
    "zoho.com",
];

/// Whether `domain` could be taken for `known`; both in lower case and in their `xn--` form.
pub fn likeness(domain: &str, known: &str) -> Option<Likeness> {
    if domain == known || below(domain, known) || below(known, domain) {
        return None;
    }
    if shape(domain) == shape(known) {
        return Some(Likeness::Shape);
    }
    if domain.strip_prefix(known).is_some_and(|rest| rest.starts_with('.')) {
        return Some(Likeness::Front);
    }
    let (a, b) = (drawn(domain), drawn(known));
    let (one, two): (Vec<&str>, Vec<&str>) = (a.split('.').collect(), b.split('.').collect());
    // Compared label by label, so that `mail1.` and `mail2.` in front of long names do not hide what differs.
    let differing: Vec<(&str, &str)> = one.iter().copied().zip(two.iter().copied()).filter(|(x, y)| x != y).collect();
    let long_enough = match (one.len() == two.len(), differing.as_slice()) {
        // The last label is short by nature; there the name in front of it must be long.
        (true, [(x, y)]) if one.last() == Some(x) && two.last() == Some(y) => a.chars().count() > SHORT + 3,
        (true, [(x, y)]) => x.chars().count().min(y.chars().count()) >= SHORT,
        (true, _) => false,
        (false, _) => a.chars().count().min(b.chars().count()) > SHORT + 3,
    };
    (long_enough && one_edit(&a, &b)).then_some(Likeness::OneLetter)
}

fn below(domain: &str, parent: &str) -> bool {
    domain.strip_suffix(parent).is_some_and(|front| front.ends_with('.'))
}

/// The letters that are drawn for an `xn--` form, in lower case.
pub(super) fn drawn(domain: &str) -> String {
    idna::domain_to_unicode(domain).0.to_lowercase()
}

/// What is left when letters of one shape count as one: UTS 39's skeleton, and two pairs that it does not have.
fn shape(domain: &str) -> String {
    let skeleton: String = unicode_security::skeleton(&drawn(domain)).collect();
    let lower = skeleton.to_lowercase();
    let again: String = unicode_security::skeleton(&lower).collect();
    again.replace("vv", "w").replace("cl", "d")
}

/// Whether one insertion, deletion, replacement or swap of neighbours makes one text of the other.
fn one_edit(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let front = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[front..], &b[front..]);
    let back = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[..a.len() - back], &b[..b.len() - back]);
    matches!((a, b), ([_], []) | ([], [_]) | ([_], [_])) || matches!((a, b), ([x, y], [z, w]) if x == w && y == z)
}

/// Domains that were met, with how often, and in which ways others may come close to them. Cheap to clone, and looking for
/// those alike costs the same however many there are.
#[derive(Clone, Debug, Default)]
pub struct Domains(Arc<Index>);

#[derive(Clone, Debug, Default)]
struct Index {
    met: Vec<Met>,
    /// By the text they were told under, and by what they are compared under; numbers of `met`.
    told: HashMap<String, usize>,
    named: BTreeSet<(String, usize)>,
    shaped: BTreeSet<(String, usize)>,
    /// By the hash of each text that one letter less makes of their letters, and of the letters themselves: two texts that
    /// are one edit apart share one of these.
    near: BTreeSet<(u64, usize)>,
}

#[derive(Clone, Debug)]
struct Met {
    domain: String,
    count: u32,
}

impl Domains {
    /// Notes how often a domain (lower case) was met.
    pub fn met(&mut self, domain: &str, count: u32) {
        match self.0.told.get(domain).copied() {
            Some(known) if self.0.met[known].count == count => {}
            Some(known) => Arc::make_mut(&mut self.0).met[known].count = count,
            None => {
                let index = Arc::make_mut(&mut self.0);
                let (number, folded) = (index.met.len(), folded_domain(domain));
                index.told.insert(domain.to_owned(), number);
                index.shaped.insert((shape(&folded), number));
                index.near.extend(neighbours(&drawn(&folded)).map(|hash| (hash, number)));
                index.named.insert((folded.clone(), number));
                index.met.push(Met { domain: folded, count });
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.met.is_empty()
    }

    /// How often it was met; zero for never.
    pub fn count(&self, domain: &str) -> u32 {
        named(&self.0.named, domain).map(|i| self.0.met[i].count).max().unwrap_or(0)
    }

    /// Every one that [`likeness`] may find alike, each once, in the order they were met.
    fn candidates(&self, domain: &str) -> impl Iterator<Item = &Met> {
        let mut found: BTreeSet<usize> = named(&self.0.shaped, &shape(domain)).collect();
        let fronts = domain.match_indices('.').map(|(dot, _)| &domain[..dot]);
        found.extend(fronts.flat_map(|front| named(&self.0.named, front)));
        for hash in neighbours(&drawn(domain)) {
            found.extend(self.0.near.range((hash, 0)..=(hash, usize::MAX)).map(|(_, i)| *i));
        }
        found.into_iter().map(|i| &self.0.met[i])
    }
}

impl<S: AsRef<str>> FromIterator<(S, u32)> for Domains {
    fn from_iter<T: IntoIterator<Item = (S, u32)>>(all: T) -> Domains {
        let mut domains = Domains::default();
        all.into_iter().for_each(|(domain, count)| domains.met(domain.as_ref(), count));
        domains
    }
}

fn named<'a>(set: &'a BTreeSet<(String, usize)>, name: &str) -> impl Iterator<Item = usize> + use<'a> {
    let name = name.to_owned();
    set.range((name.clone(), 0)..).take_while(move |(n, _)| *n == name).map(|(_, i)| *i)
}

/// Hashes of the text and of what it is without any one of its letters.
fn neighbours(text: &str) -> impl Iterator<Item = u64> {
    let hash = |text: &str| {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        hasher.finish()
    };
    let less = text.char_indices().map(|(at, c)| [&text[..at], &text[at + c.len_utf8()..]].concat());
    std::iter::once(hash(text)).chain(less.map(move |t| hash(&t)).collect::<Vec<_>>())
}

/// A domain that others may imitate, with how often it was met. Our own weighs more than any.
struct Established {
    domain: String,
    count: u32,
    own: bool,
}

/// Our own domains and those of the people in the conversation; what was met before is [`Known::domains`].
fn established(conversation: Option<&Conversation>, known: &Known) -> Vec<Established> {
    let own = known.own_domains.iter().map(|d| Established { domain: folded_domain(d), count: u32::MAX, own: true });
    let people = conversation.into_iter().flat_map(Conversation::people);
    let told = people.map(|m| Established { domain: m.ascii_domain(), count: 1, own: false });
    own.chain(told).collect()
}

pub(super) fn findings(email: &EmailView, conversation: Option<&Conversation>, known: &Known) -> Vec<Finding> {
    let established = established(conversation, known);
    let reply_to = email.reply_to.iter().enumerate().map(|(i, m)| (format!("reply_to[{i}]"), m));
    let mut all = Vec::new();
    for (path, mailbox) in email.recipients().chain(reply_to) {
        let field = format!("{path}.email");
        all.extend(mixed_scripts(&field, mailbox));
        all.extend(look_alike(&field, &mailbox.ascii_domain(), &established, known));
    }
    all
}

fn look_alike(field: &str, domain: &str, established: &[Established], known: &Known) -> Option<Finding> {
    if is_own(domain, known) || PROVIDERS.contains(&domain) {
        return None;
    }
    let here = established.iter().filter(|e| e.domain == domain).map(|e| e.count).max().unwrap_or(0);
    let count = here.max(known.domains.count(domain));
    let met = known.domains.candidates(domain).map(|m| (m.domain.as_str(), m.count, false));
    // The rarer of two alike domains is the one to look at; of two strangers in one conversation it is nobody's turn.
    let model = established
        .iter()
        .map(|e| (e.domain.as_str(), e.count, e.own))
        .chain(met)
        .filter(|(_, times, own)| *own || *times > count)
        .filter_map(|(model, times, own)| likeness(domain, model).map(|how| (model, times, own, how)))
        .max_by_key(|(_, times, ..)| *times);
    if let Some((model, times, own, how)) = model {
        let (what, like) = (shown(domain), shown(model));
        let how = match how {
            Likeness::Shape => "the same to the eye as",
            Likeness::OneLetter => "one letter away from",
            Likeness::Front => "another domain than",
        };
        let whose = if own { " (yours)".to_owned() } else { format!(" (met {times} times)") };
        let text = format!("Look-alike domain: {what} (met {count} times) is {how} {like}{whose}.");
        return Some(Finding::new("look_alike_domain", field, Weight::Stop, text));
    }
    // Foreign letters throughout that all have the shape of Latin ones: an honest name rarely looks like that.
    let (letters, shape) = (drawn(domain), shape(domain));
    (count == 0 && !letters.is_ascii() && shape.is_ascii()).then(|| {
        let text = format!("Look-alike domain: {domain} is drawn like {shape}, but is another one.");
        Finding::new("look_alike_domain", field, Weight::Stop, text)
    })
}

/// Never the drawn form alone: that is what deceives.
fn shown(domain: &str) -> String {
    let drawn = drawn(domain);
    if drawn == domain { domain.to_owned() } else { format!("{domain} (drawn as {drawn})") }
}

fn mixed_scripts(field: &str, mailbox: &Mailbox) -> Option<Finding> {
    let ascii = mailbox.ascii_domain();
    let letters = drawn(&ascii);
    let mixed = letters.split('.').any(|label| label.detect_restriction_level() > RestrictionLevel::HighlyRestrictive);
    (mixed && !letters.is_ascii()).then(|| {
        let text = format!("Letters from two alphabets: {letters} is {ascii}.");
        Finding::new("mixed_scripts", field, Weight::Stop, text)
    })
}
