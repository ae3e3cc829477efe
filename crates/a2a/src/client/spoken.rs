//! What a peer speaks, oldest first. A server tells April 2025 by its methods and needs no name for it as a version; a client
//! has to know before it asks.

use crate::version::Version;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spoken {
    /// Of April 2025: no version on its card, and none on the wire.
    April2025,
    V0_3,
    V1_0,
}

impl Spoken {
    /// What a card calls the one that has no number.
    pub(super) const APRIL_2025: &'static str = "2025-04";

    /// What a card says.
    pub(super) fn parse(said: &str) -> Option<Self> {
        if said == Self::APRIL_2025 {
            return Some(Self::April2025);
        }
        Some(match Version::parse(Some(said)).ok()?.unwrap_or(Version::V0_3) {
            Version::V1_0 => Self::V1_0,
            Version::V0_3 => Self::V0_3,
        })
    }

    /// What a request says of itself.
    pub(super) fn version(self) -> Option<Version> {
        match self {
            Self::April2025 => None,
            Self::V0_3 => Some(Version::V0_3),
            Self::V1_0 => Some(Version::V1_0),
        }
    }

    pub fn as_str(self) -> &'static str {
        self.version().map_or(Self::APRIL_2025, Version::as_str)
    }
}
