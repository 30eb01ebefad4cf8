//! The exact bytes rendered from a payload at approval. Opaque here: only a provider makes them, only a transport sends them.

use crate::canonical::{WireHash, sha256};
use std::fmt;

/// The bytes that are signed and sent; a retry sends the same ones.
#[derive(Clone, PartialEq, Eq)]
pub struct Wire(Vec<u8>);

impl Wire {
    pub fn new(bytes: Vec<u8>) -> Self {
        Wire(bytes)
    }
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
    pub fn hash(&self) -> WireHash {
        WireHash(sha256(&self.0))
    }
}

/// Shows its size and hash only: a wire holds message text.
impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Wire({} bytes, {:?})", self.0.len(), self.hash())
    }
}
