//! Settings that are one of a few words.

use super::value::{Value, unexpected};
use crate::nearest::did_you_mean;

macro_rules! words {
    ($(#[doc = $doc:literal])* $type:ident, $kind:literal { $($variant:ident = $word:literal,)* }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum $type {
            $($variant,)*
        }

        impl $type {
            pub(crate) fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl Value for $type {
            const KIND: &'static str = $kind;

            fn from_toml(value: &toml::Value) -> Result<Self, String> {
                value.as_str().ok_or_else(|| unexpected::<Self>(value)).and_then(Self::from_text)
            }

            fn from_text(text: &str) -> Result<Self, String> {
                match text {
                    $($word => Ok(Self::$variant),)*
                    other => Err(format!("{}{}", unexpected::<Self>(format_args!("{other:?}")), did_you_mean(other, [$($word),*]))),
                }
            }

            fn show(&self) -> String {
                format!("{:?}", self.as_str())
            }
        }
    };
}

words! {
    /// How a line of the log looks.
    LogFormat, "text or json" {
        Text = "text",
        Json = "json",
    }
}

words! {
    /// What becomes of a context that a client of A2A names and that is not known.
    ClientContexts, "accept or refuse" {
        Accept = "accept",
        Refuse = "refuse",
    }
}

words! {
    /// The least important kind of line that is written.
    LogLevel, "error, warn, info, debug or trace" {
        Error = "error",
        Warn = "warn",
        Info = "info",
        Debug = "debug",
        Trace = "trace",
    }
}

impl LogLevel {
    /// `steps` levels louder, or quieter where negative.
    pub(crate) fn louder(self, steps: i32) -> Self {
        const ALL: [LogLevel; 5] = [LogLevel::Error, LogLevel::Warn, LogLevel::Info, LogLevel::Debug, LogLevel::Trace];
        let index = (self as i32 + steps).clamp(0, ALL.len() as i32 - 1);
        ALL.get(usize::try_from(index).unwrap_or(0)).copied().unwrap_or(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_get_louder_and_quieter_within_their_range() {
        assert_eq!(LogLevel::Warn.louder(1), LogLevel::Info);
        assert_eq!(LogLevel::Warn.louder(9), LogLevel::Trace);
        assert_eq!(LogLevel::Warn.louder(-9), LogLevel::Error);
        let message = "expected text or json, got \"jsno\"; did you mean \"json\"?";
        assert_eq!(LogFormat::from_text("jsno"), Err(message.to_owned()));
    }
}
