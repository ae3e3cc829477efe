//! Which version of the protocol a request speaks: `Major.Minor` in the `A2A-Version` header or query parameter.

use a2a::A2AError;

/// The versions that are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Also what a request without a version speaks.
    V0_3,
    V1_0,
}

impl Version {
    /// The header, and in lower case the query parameter and the gRPC metadata key.
    pub const HEADER: &'static str = "A2A-Version";

    pub const ALL: [Version; 2] = [Self::V0_3, Self::V1_0];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::V0_3 => "0.3",
            Self::V1_0 => "1.0",
        }
    }

    /// What a request says; `None` where it says nothing, which means 0.3 wherever nothing else tells. A patch number is no
    /// part of a version on the wire, and is forgiven.
    pub fn parse(said: Option<&str>) -> Result<Option<Self>, A2AError> {
        let Some(said) = said.map(str::trim).filter(|said| !said.is_empty()) else { return Ok(None) };
        let is = |version: &Version| {
            said.strip_prefix(version.as_str()).is_some_and(|rest| rest.is_empty() || is_patch(rest))
        };
        Self::ALL.into_iter().find(is).map(Some).ok_or_else(|| not_supported(said))
    }
}

fn not_supported(said: &str) -> A2AError {
    let message = format!("A2A version {said:?} is not supported; 1.0 and 0.3 are");
    A2AError::new(a2a::error_code::VERSION_NOT_SUPPORTED, message)
}

fn is_patch(rest: &str) -> bool {
    rest.strip_prefix('.').is_some_and(|patch| !patch.is_empty() && patch.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_a_version_that_is_known_or_none() {
        let table = [
            (None, Some(None)),
            (Some(""), Some(None)),
            (Some("0.3"), Some(Some(Version::V0_3))),
            (Some(" 1.0 "), Some(Some(Version::V1_0))),
            (Some("1.0.1"), Some(Some(Version::V1_0))),
            (Some("1.00"), None),
            (Some("1.0."), None),
            (Some("1"), None),
            (Some("0.5"), None),
            (Some("2.0"), None),
            (Some("junk"), None),
        ];
        for (said, version) in table {
            assert_eq!(Version::parse(said).ok(), version, "{said:?}");
        }
    }
}
