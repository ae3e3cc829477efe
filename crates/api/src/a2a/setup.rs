//! What an operator says about A2A, and what the server keeps for it.

use factum_a2a::CardKey;

use super::card::Cache;

/// How A2A is set up.
#[derive(Debug)]
pub struct A2aOptions {
    /// Whether callers with a credential may have the extended card.
    pub extended_card: bool,
    /// Whether push notification configurations are taken.
    pub push_notifications: bool,
    /// Extensions, by URI, that every request must activate.
    pub required_extensions: Vec<String>,
    /// Signs the cards.
    pub card_key: Option<CardKey>,
}

impl Default for A2aOptions {
    fn default() -> Self {
        Self { extended_card: true, push_notifications: false, required_extensions: Vec::new(), card_key: None }
    }
}

/// The options, and the cards that were made with them.
#[derive(Default)]
pub(crate) struct Setup {
    pub(crate) options: A2aOptions,
    pub(crate) cards: Cache,
}

impl Setup {
    pub(crate) fn new(options: A2aOptions) -> Self {
        Self { options, cards: Cache::default() }
    }
}
