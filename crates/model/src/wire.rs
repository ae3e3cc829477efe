//! `wire!`: the derives every struct on the wire has, said once.
//!
//! Absent options are left out when written and may be missing when read. Unknown fields are ignored, so that an older
//! server understands a newer client as far as it can.

macro_rules! wire {
    ($($(#[$meta:meta])* pub struct $name:ident { $($body:tt)* })*) => {$(
        #[serde_with::skip_serializing_none]
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        $(#[$meta])*
        pub struct $name { $($body)* }
    )*};
}

/// Records: a field that there is nothing to say about is `null`, and not left out, so that a reader finds all of them.
macro_rules! record {
    ($($(#[$meta:meta])* pub struct $name:ident { $($body:tt)* })*) => {$(
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        $(#[$meta])*
        pub struct $name { $($body)* }
    )*};
}

/// Words on the wire: snake_case enums without content.
macro_rules! words {
    ($($(#[$meta:meta])* pub enum $name:ident { $($(#[$vmeta:meta])* $variant:ident,)* })*) => {$(
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        $(#[$meta])*
        pub enum $name { $($(#[$vmeta])* $variant,)* }
    )*};
}

pub(crate) use {record, wire, words};
