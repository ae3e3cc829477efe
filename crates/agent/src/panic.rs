//! What a panic said. A model or a tool that panics fails its own request or call, never the runtime.

use std::any::Any;

pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let literal = panic.downcast_ref::<&str>().copied();
    literal.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}
