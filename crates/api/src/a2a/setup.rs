//! What an operator says about A2A, and what the server keeps for it.

use std::sync::Arc;

use factum_a2a::CardKey;
use factum_outbound::Policy;

use super::card::Cache;

/// How A2A is set up.
#[derive(Debug)]
pub struct A2aOptions {
    /// Whether callers with a credential may have the extended card.
    pub extended_card: bool,
    /// Whether push notification configurations are taken.
    pub push_notifications: bool,
    /// What push notifications may reach.
    pub push_policy: Arc<Policy>,
    /// Extensions, by URI, that every request must activate.
    pub required_extensions: Vec<String>,
    /// Whether clients may begin contexts under ids of their own.
    pub client_contexts: ClientContexts,
    /// Signs the cards.
    pub card_key: Option<CardKey>,
}

impl Default for A2aOptions {
    fn default() -> Self {
        Self {
            extended_card: true,
            push_notifications: false,
            push_policy: Arc::default(),
            required_extensions: Vec::new(),
            client_contexts: ClientContexts::Accept,
            card_key: None,
        }
    }
}

/// What becomes of a context id that is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientContexts {
    /// It is begun under that id.
    #[default]
    Accept,
    /// It is refused: only the server makes them.
    Refuse,
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
