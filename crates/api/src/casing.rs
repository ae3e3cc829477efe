//! `?casing=camel`: events in the form of the published JSON schemas. The stored bytes are snake_case and go out as they
//! are; the other form is made on the way out, for those who ask for it.

use bytes::Bytes;
use factum_model::Refusal;
use factum_model::casing::to_camel;
use serde_json::value::RawValue;

/// How the keys of events are spelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Casing {
    #[default]
    Snake,
    Camel,
}

impl Casing {
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, Refusal> {
        match text {
            None | Some("" | "snake") => Ok(Self::Snake),
            Some("camel") => Ok(Self::Camel),
            Some(_) => Err(Refusal::invalid("casing must be \"snake\" or \"camel\"")),
        }
    }

    /// An event as it goes out.
    pub(crate) fn apply(self, event: &Bytes) -> Bytes {
        match self {
            Self::Snake => event.clone(),
            Self::Camel => match serde_json::from_slice(event) {
                Ok(value) => to_camel(&value).to_string().into(),
                // Stored events are JSON; one that is not goes out as it is, for whoever looks into it.
                Err(_) => event.clone(),
            },
        }
    }

    /// The same for an event inside an answer.
    pub(crate) fn apply_raw(self, event: Box<RawValue>) -> Box<RawValue> {
        match self {
            Self::Snake => event,
            Self::Camel => {
                let camel = serde_json::from_str(event.get()).ok().map(|value| to_camel(&value).to_string());
                camel.and_then(|text| RawValue::from_string(text).ok()).unwrap_or(event)
            }
        }
    }
}
