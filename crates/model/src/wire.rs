//! `wire!`: the derives every struct on the wire has, said once.
//!
//! Absent options are left out when written and may be missing when read. Unknown fields are ignored, so that an older
//! server understands a newer client as far as it can. An object is an object: the list of its values in the order of the
//! fields, which serde would take as well, is refused, wherever in the params it stands.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};

macro_rules! wire {
    ($($(#[$meta:meta])* pub struct $name:ident { $($body:tt)* })*) => {$(
        #[serde_with::skip_serializing_none]
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(remote = "Self")]
        #[schemars(!remote)]
        $(#[$meta])*
        pub struct $name { $($body)* }

        $crate::wire::object!($name);
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

/// Makes a type that derives its (de)serialization as `remote = "Self"` be read from objects only. What is derived that way
/// are functions of the type itself, so there is room to stand in between.
macro_rules! object {
    ($name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                Self::serialize(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::deserialize($crate::wire::Object(deserializer))
            }
        }
    };
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

pub(crate) use {object, record, wire, words};

/// A list of words, or one word alone.
pub(crate) fn one_or_many<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_any(OneOrMany(PhantomData))
}

struct OneOrMany<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMany<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a word or a list of words")
    }

    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Vec<T>, E> {
        T::deserialize(word.into_deserializer()).map(|word| vec![word])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut words: A) -> Result<Vec<T>, A::Error> {
        std::iter::from_fn(|| words.next_element().transpose()).collect()
    }
}

/// A deserializer of something that has to be an object.
pub(crate) struct Object<D>(pub(crate) D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Object<D> {
    type Error = D::Error;

    /// What a struct asks for.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_struct(name, fields, Entries(visitor))
    }

    /// What a struct with flattened fields asks for.
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(Entries(visitor))
    }

    /// What an enum asks for that is told by one of its fields.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Entries(visitor))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct enum identifier ignored_any
    }
}

/// Takes the entries of an object and nothing else.
struct Entries<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for Entries<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(map)
    }
}
