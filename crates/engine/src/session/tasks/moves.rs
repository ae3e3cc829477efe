//! Which status may follow which: the one table of it.

use factum_model::task::TaskStatus::{self, *};

/// The statuses a task may move to from `from`.
pub fn moves(from: TaskStatus) -> &'static [TaskStatus] {
    match from {
        Draft => &[Accepted, Queued, Blocked, Cancelling, Cancelled],
        Accepted => &[
            Queued,
            Preparing,
            Running,
            WaitingInput,
            WaitingPermission,
            WaitingResource,
            Blocked,
            Paused,
            Cancelling,
            Cancelled,
            Failed,
            // Done without an attempt of ours: somebody says so.
            Completed,
        ],
        Queued => {
            &[Preparing, Running, WaitingResource, Blocked, Paused, Retrying, Cancelling, Cancelled, TimedOut, Failed]
        }
        Preparing | Running | WaitingInput | WaitingPermission | WaitingResource => &[
            Queued,
            Preparing,
            Running,
            WaitingInput,
            WaitingPermission,
            WaitingResource,
            Blocked,
            Paused,
            Retrying,
            Cancelling,
            Cancelled,
            TimedOut,
            Failed,
            Lost,
            Completed,
            Stale,
            Unknown,
        ],
        Blocked => &[
            Accepted,
            Queued,
            Preparing,
            Running,
            WaitingInput,
            WaitingPermission,
            WaitingResource,
            Blocked,
            Paused,
            Retrying,
            Cancelling,
            Cancelled,
            TimedOut,
            Failed,
            Lost,
        ],
        Paused => &[
            Accepted,
            Queued,
            Preparing,
            Running,
            WaitingInput,
            WaitingPermission,
            WaitingResource,
            Blocked,
            Retrying,
            Cancelling,
            Cancelled,
            TimedOut,
            Failed,
            Lost,
            Stale,
            Unknown,
        ],
        Retrying => &[Queued, Preparing, Running, WaitingResource, Blocked, Paused, Cancelling, Cancelled, Failed],
        // Work that was under way settles, and whatever is said of its end, the task is cancelled by it; logs of older
        // versions have the others too.
        Cancelling => &[Cancelled, TimedOut, Failed, Completed],
        Lost | Stale | Unknown => &[
            Queued,
            Preparing,
            Running,
            WaitingInput,
            WaitingPermission,
            WaitingResource,
            Retrying,
            Cancelling,
            Cancelled,
            TimedOut,
            Failed,
            Lost,
            Completed,
        ],
        // A new attempt was asked for: the end of the old one stays in the log.
        Failed | TimedOut => &[Retrying, Archived],
        Cancelled | Completed => &[Archived],
        Archived => &[],
    }
}

/// Whether `to` may follow `from`.
pub fn may_move(from: TaskStatus, to: TaskStatus) -> bool {
    moves(from).contains(&to)
}
