//! Who may be named to do something: the queue of workers and what they have to be able to do, an agent, or a peer.

use factum_model::Refusal;
use factum_model::task::Execution;

use crate::context::check;

/// The longest name of a queue or capability.
const NAME_BYTES_MAX: usize = 64;
/// How many capabilities a run may ask for.
const CAPABILITIES_MAX: usize = 16;
/// How long they are together: they stand in the key that a run is found by, and keys have a longest length.
const CAPABILITIES_BYTES_MAX: usize = 200;

/// Refuses what cannot do anything.
pub(in super::super) fn check_execution(execution: &Execution) -> Result<(), Refusal> {
    let named = [&execution.queue, &execution.agent, &execution.peer].into_iter().flatten().count();
    if named > 1 {
        return Err(Refusal::invalid("name a queue, whose workers do it, or an agent, or a peer: one of them"));
    }
    if execution.queue.is_none() && !execution.required_capabilities.is_empty() {
        return Err(Refusal::invalid("required_capabilities are asked of workers: name a queue too"));
    }
    check("required_capabilities", execution.required_capabilities.len(), CAPABILITIES_MAX)?;
    let bytes: usize = execution.required_capabilities.iter().map(|name| name.len() + 1).sum();
    check("required_capabilities_bytes", bytes, CAPABILITIES_BYTES_MAX)?;
    execution
        .peer
        .iter()
        .chain(&execution.queue)
        .chain(&execution.required_capabilities)
        .try_for_each(|name| check_name(name))
}

/// Names of queues and capabilities are parts of keys.
pub fn check_name(name: &str) -> Result<(), Refusal> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':' | b'/');
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(allowed) {
        return Err(Refusal::invalid(
            "queues, capabilities and peers have 1 to 64 characters out of A-Z a-z 0-9 _ - . : /",
        )
        .with("name", name));
    }
    Ok(())
}
