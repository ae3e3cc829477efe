//! Why a peer did not do what it was asked, by what can be done about it.

use std::time::Duration;

use a2a::{A2AError, error_code};
use factum_outbound::{Error as Outbound, Phase};
use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};

use super::operation::Operation;
use super::spoken::Spoken;

/// Why there is no answer that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// No way there, or nobody able to answer. Later it may work.
    #[error("the peer cannot be reached: {problem}")]
    Network {
        problem: String,
        /// Whether the request may have been carried out all the same.
        may_have_arrived: bool,
    },
    /// The same, and the peer says when to ask again.
    #[error("the peer is busy: {problem}")]
    Busy { problem: String, may_have_arrived: bool, after: Duration },
    /// The peer's stream said nothing for as long as a stream may. Nothing is known by that: whoever works may have nothing to say.
    #[error("the peer's stream was silent: {problem}")]
    Silent { problem: String },
    /// The peer does not let us in. Somebody has to change a credential.
    #[error("the peer does not let us in: {problem}")]
    Auth { problem: String },
    /// The peer knows no such task, any more or for us.
    #[error("the peer knows no such task: {problem}")]
    Missing { problem: String },
    /// The peer understood and does not do it.
    #[error("the peer refuses ({code}): {message}")]
    Refused { code: i32, message: String },
    /// What came back is not A2A as we know it.
    #[error("the peer's answer cannot be understood: {problem}")]
    Malformed { problem: String, may_have_arrived: bool },
    /// What came back is larger than what is taken. Whoever can ask for less may.
    #[error("the peer's answer is too large: {problem}")]
    TooLarge { problem: String },
}

/// The longest that a peer may have us wait before it is asked again.
const BUSY_MAX: Duration = Duration::from_secs(60);

/// The most characters of a peer's words that are kept.
const WORDS_MAX: usize = 500;

impl Failure {
    /// Whether what was asked may have been carried out although there is no answer.
    pub fn may_have_arrived(&self) -> bool {
        match self {
            Self::Network { may_have_arrived, .. }
            | Self::Busy { may_have_arrived, .. }
            | Self::Malformed { may_have_arrived, .. } => *may_have_arrived,
            Self::Silent { .. } | Self::TooLarge { .. } => true,
            Self::Auth { .. } | Self::Missing { .. } | Self::Refused { .. } => false,
        }
    }

    /// Whether later it may work without anybody changing anything.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self, Self::Network { .. } | Self::Busy { .. } | Self::Silent { .. })
    }

    /// With what the answer says of when to ask again: in seconds, as whoever is busy says it. A date would have to be compared with
    /// a clock that is not the peer's.
    pub(super) fn until(self, status: StatusCode, headers: &HeaderMap) -> Self {
        let said = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        match (self, said.map(Duration::from_secs)) {
            (Self::Network { problem, may_have_arrived }, Some(after)) if matches!(status.as_u16(), 429 | 503) => {
                Self::Busy { problem, may_have_arrived, after: after.min(BUSY_MAX) }
            }
            (failure, _) => failure,
        }
    }

    /// Whether it is what the peer said, and not that it could not be understood.
    pub(super) fn is_said(&self) -> bool {
        !matches!(self, Self::Malformed { .. })
    }

    pub(super) fn malformed(problem: impl Into<String>) -> Self {
        Self::Malformed { problem: cut(&problem.into()), may_have_arrived: true }
    }

    /// An operation that a version does not have. The peer is not asked.
    pub(super) fn unknown(operation: Operation, spoken: Spoken) -> Self {
        let message = format!("{operation:?} is not an operation of A2A {}", spoken.as_str());
        Self::Refused { code: error_code::METHOD_NOT_FOUND, message }
    }

    /// A peer's error, whichever binding it came by. `reason` is that of its `ErrorInfo`.
    ///
    /// Whoever is given something and answers with a number of its own and no reason says that it cannot now ("busy, try again"):
    /// it took nothing, and judged nothing. Asked about a task that exists, it says no to just that, and how the task stands is
    /// found out otherwise.
    pub(super) fn said(operation: Operation, error: &A2AError, reason: Option<&str>) -> Self {
        let message = cut(&error.message);
        if let Some(failure) = reason.and_then(|reason| Self::by_reason(reason, &message)) {
            return failure;
        }
        match error.code {
            error_code::TASK_NOT_FOUND => Self::Missing { problem: message },
            // The peer broke while it was at it: nobody knows how far it got.
            error_code::INTERNAL_ERROR => Self::Network { problem: message, may_have_arrived: true },
            code if operation.gives() && reason.is_none() && is_server_trouble(code) => {
                Self::Network { problem: message, may_have_arrived: false }
            }
            code => Self::Refused { code, message },
        }
    }

    /// A reason that A2A has no number for. Whoever gives one of these has not judged what it was asked.
    pub(super) fn by_reason(reason: &str, problem: &str) -> Option<Self> {
        let problem = problem.to_owned();
        match reason {
            // A server that closes says so of what it goes on with later, too.
            "UNAVAILABLE" => Some(Self::Network { problem, may_have_arrived: true }),
            "RATE_LIMITED" => Some(Self::Network { problem, may_have_arrived: false }),
            "UNAUTHENTICATED" | "PERMISSION_DENIED" => Some(Self::Auth { problem }),
            _ => None,
        }
    }

    /// A status that says enough by itself, whatever the body says.
    pub(super) fn by_status(status: StatusCode, body: &[u8]) -> Option<Self> {
        let problem = || cut(&format!("{status}: {}", String::from_utf8_lossy(body)));
        match status.as_u16() {
            401 | 403 | 407 => Some(Self::Auth { problem: problem() }),
            429 | 503 => Some(Self::Network { problem: problem(), may_have_arrived: false }),
            408 | 425 | 502 | 504 => Some(Self::Network { problem: problem(), may_have_arrived: true }),
            _ => None,
        }
    }

    /// What a status alone says, where the body says nothing of A2A: somebody in front of the peer answered, or the peer broke.
    pub(super) fn unsaid(operation: Operation, status: StatusCode, body: &[u8]) -> Self {
        let problem = cut(&format!("{status}: {}", String::from_utf8_lossy(body)));
        if let Some(failure) = Self::by_status(status, body) {
            return failure;
        }
        match status.as_u16() {
            // Nobody does that at this address now, so nobody did it. A peer that moves or starts is there later.
            404 | 405 | 410 if operation.gives() => Self::Network { problem, may_have_arrived: false },
            404 | 405 | 410 if operation.names_task() => Self::malformed(problem),
            500.. => Self::Network { problem, may_have_arrived: true },
            400.. => Self::Refused { code: i32::from(status.as_u16()), message: problem },
            _ => Self::malformed(problem),
        }
    }
}

impl From<Outbound> for Failure {
    fn from(error: Outbound) -> Self {
        let (problem, may_have_arrived) = (error.to_string(), !error.is_before_sending());
        match error {
            Outbound::TooLarge { .. } => Self::TooLarge { problem },
            Outbound::TimedOut { phase: Phase::Silent, .. } => Self::Silent { problem },
            // Whoever points elsewhere has not done it.
            Outbound::Redirected { .. } => Self::Network { problem, may_have_arrived: false },
            _ => Self::Network { problem, may_have_arrived },
        }
    }
}

/// A number that JSON-RPC leaves to servers and A2A did not take.
fn is_server_trouble(code: i32) -> bool {
    let of_a2a = error_code::VERSION_NOT_SUPPORTED..=error_code::TASK_NOT_FOUND;
    (-32_099..=-32_000).contains(&code) && !of_a2a.contains(&code)
}

/// A peer's words, not endless and on one line.
pub(super) fn cut(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.chars().count() <= WORDS_MAX { line } else { line.chars().take(WORDS_MAX).chain(['…']).collect() }
}
