//! The reference pages in `docs/reference`, written by the binary from its own registry: what they say of a command, an
//! event, a code or a scope is what the server does. They are committed, and a check compares them with what is written
//! here, so the output must not depend on anything but the registry.

mod access;
mod commands;
mod errors;
mod events;
mod example;
mod identities;
mod markdown;
mod shapes;
mod types;

use shapes::Shapes;

/// Every page by its file name.
pub fn pages() -> Vec<(&'static str, String)> {
    let shapes = Shapes::new();
    vec![
        ("commands.md", commands::page(&shapes)),
        ("events.md", events::page(&shapes)),
        ("types.md", types::page(&shapes)),
        ("errors.md", errors::page()),
        ("identities.md", identities::page()),
        ("access.md", access::page()),
    ]
}

#[cfg(test)]
mod tests;
