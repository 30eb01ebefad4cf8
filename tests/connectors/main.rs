//! Every kind of destination against its double: what becomes of a message that is accepted, refused, lost on the way or
//! half answered. Effects are counted at the double, not in anything of ours.
//!
//! | file | what |
//! |---|---|
//! | `rig` | a destination connected to its double, orders that were really countersigned, one attempt as dispatch makes it |
//! | `conformance` | the trials of a mail server |
//! | `suite` | the trials every kind with an HTTP API has to pass, chosen by its contract |
//! | `doubles` | each of these kinds with its double: what a new provider adds |
//! | `elsewhere` | somebody else answers in the provider's place, or the clocks are apart: what people are told |
//! | `field` | failures seen in the field (cases F01 to F09), on the mailbox |
//! | `large` | what is too large for a provider, and what is as large as can be |
//! | `tls` | kinds with an HTTP API over TLS with an authority of one's own |
//! | `mailbox` | look-ups, situation, the customer's message, filing a copy |

mod conformance;
mod doubles;
mod elsewhere;
mod field;
mod large;
mod mailbox;
mod rig;
mod suite;
mod tls;
