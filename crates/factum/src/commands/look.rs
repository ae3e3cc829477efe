//! How the statuses of tasks, jobs, items and child agents look: a sign and a color for each, so that a list can be read at a glance.

use anstyle::{AnsiColor, Style};
use factum_model::job::{JobItemStatus, JobStatus};
use factum_model::subagent::SubagentState;
use factum_model::task::{AttemptStatus, CriterionState, TaskStatus};

use crate::glyphs::{Glyphs, Sign};
use crate::output::{DIM, GREEN, RED, YELLOW};
use crate::words::word;

const CYAN: Style = AnsiColor::Cyan.on_default();

/// A sign and its color.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Look {
    sign: Sign,
    style: Style,
}

const fn look(unicode: &'static str, ascii: &'static str, style: Style) -> Look {
    Look { sign: Sign { unicode, ascii }, style }
}

const DRAFT: Look = look("◌", ".", DIM);
const READY: Look = look("○", "o", Style::new());
const RUNNING: Look = look("●", "*", CYAN);
const WAITING: Look = look("◐", "~", YELLOW);
const BLOCKED: Look = look("◇", "#", YELLOW);
const PAUSED: Look = look("‖", "=", YELLOW);
const AGAIN: Look = look("↻", "@", YELLOW);
const STOPPED: Look = look("⊖", "-", DIM);
const FAILED: Look = look("✗", "x", RED);
const LOST: Look = look("?", "?", RED);
const DONE: Look = look("✓", "+", GREEN);
const AWAY: Look = look("·", ".", DIM);

impl Look {
    /// The sign alone.
    pub(super) fn sign(self, glyphs: Glyphs) -> String {
        self.paint(glyphs.sign(self.sign))
    }

    /// A text in the color.
    pub(super) fn paint(self, text: &str) -> String {
        let style = self.style;
        format!("{style}{text}{style:#}")
    }
}

/// Something that stands somewhere.
pub(super) trait Stands: serde::Serialize + Copy {
    fn look(self) -> Look;

    /// The sign and the word: `● running`.
    fn shown(self, glyphs: Glyphs) -> String {
        self.look().paint(&format!("{} {}", glyphs.sign(self.look().sign), word(self)))
    }
}

impl Stands for TaskStatus {
    fn look(self) -> Look {
        match self {
            Self::Draft => DRAFT,
            Self::Accepted | Self::Queued => READY,
            Self::Preparing | Self::Running => RUNNING,
            Self::WaitingInput | Self::WaitingPermission | Self::WaitingResource => WAITING,
            Self::Blocked => BLOCKED,
            Self::Paused => PAUSED,
            Self::Retrying => AGAIN,
            Self::Cancelling | Self::Cancelled => STOPPED,
            Self::TimedOut | Self::Failed => FAILED,
            Self::Lost | Self::Stale | Self::Unknown => LOST,
            Self::Completed => DONE,
            Self::Archived => AWAY,
        }
    }
}

impl Stands for AttemptStatus {
    fn look(self) -> Look {
        match self {
            Self::Queued => READY,
            Self::Running => RUNNING,
            Self::Completed => DONE,
            Self::Failed | Self::TimedOut => FAILED,
            Self::Cancelled => STOPPED,
            Self::Lost | Self::Unknown => LOST,
        }
    }
}

impl Stands for CriterionState {
    fn look(self) -> Look {
        match self {
            Self::Open => READY,
            Self::Met => DONE,
            Self::Unmet => FAILED,
            Self::Waived => AWAY,
        }
    }
}

impl Stands for JobStatus {
    fn look(self) -> Look {
        match self {
            Self::Created | Self::Queued => READY,
            Self::Running => RUNNING,
            Self::Paused => PAUSED,
            Self::Cancelling | Self::Cancelled => STOPPED,
            Self::Completed => DONE,
            Self::Failed | Self::TimedOut => FAILED,
            Self::Unknown => LOST,
        }
    }
}

impl Stands for JobItemStatus {
    fn look(self) -> Look {
        match self {
            Self::Pending => READY,
            Self::Running => RUNNING,
            Self::Reported => WAITING,
            Self::Completed => DONE,
            Self::Failed => FAILED,
        }
    }
}

impl Stands for SubagentState {
    fn look(self) -> Look {
        match self {
            Self::Idle => READY,
            Self::Starting | Self::Running => RUNNING,
            Self::WaitingInput | Self::WaitingPermission => WAITING,
            Self::Completed => DONE,
            Self::Failed => FAILED,
            Self::Cancelled | Self::Closing => STOPPED,
            Self::Closed => AWAY,
            Self::Lost | Self::Unknown => LOST,
        }
    }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    #[test]
    fn every_sign_takes_one_column_in_both_alphabets() {
        for look in [DRAFT, READY, RUNNING, WAITING, BLOCKED, PAUSED, AGAIN, STOPPED, FAILED, LOST, DONE, AWAY] {
            assert_eq!((look.sign.unicode.width(), look.sign.ascii.width()), (1, 1), "{look:?}");
            assert!(look.sign.ascii.is_ascii(), "{look:?}");
        }
    }

    #[test]
    fn a_status_is_its_sign_and_its_word() {
        let plain = |text: String| anstream::adapter::strip_str(&text).to_string();
        assert_eq!(plain(TaskStatus::WaitingInput.shown(Glyphs::Unicode)), "◐ waiting_input");
        assert_eq!(plain(TaskStatus::WaitingInput.shown(Glyphs::Ascii)), "~ waiting_input");
    }
}
