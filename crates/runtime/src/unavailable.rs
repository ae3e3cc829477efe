//! Commands that are declared and cannot be carried out yet. They say so, and the list may only shrink: a test compares
//! it with the one written down in `tests/unavailable.txt`.

use factum_model::commands::*;
use factum_model::{Command, Refusal};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

macro_rules! unavailable {
    ($($command:ident,)*) => {
        $(impl Handle<$command> for Runtime {
            async fn handle(&self, _: &Caller, _: $command) -> Result<<$command as Command>::Output, Refusal> {
                Err(refusal($command::NAME))
            }
        })*

        /// The names of the commands that answer `unavailable`.
        pub const UNAVAILABLE: &[&str] = &[$($command::NAME,)*];
    };
}

fn refusal(name: &str) -> Refusal {
    let mut refusal = Refusal::unavailable(format!("{name} is declared and not available in this version"));
    // Asking again does not help; a newer version does.
    refusal.retryable = false;
    refusal.with("cause", "not_implemented")
}

unavailable! {
    EvaluatePermission,
    ResolvePermission,
    GetToolInventory,
    GetExecutionEnvironment,
    WriteProcessStdin,
    TerminateProcess,
    ExportEvidence,
    ExportReplay,
    ExportReview,
}
