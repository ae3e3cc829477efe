//! 0.3 and April 2025. They have the same bones: `kind` in one is `type` in the other, `contextId` is `sessionId`, states are
//! lower-case words in both. So one reader and one writer serve them, told which fields to look for and to write.

mod read;
mod shapes;
mod write;

pub(super) use read::{read, read_april_2025};
pub(super) use write::{is_final, push_config, stream_items, write};
