//! Keys of maps: texts, and what stands for a text.

use std::fmt::Display;

use serde::Serialize;
use serde::ser::{self, Impossible, Serializer};

use super::text::put_text;
use super::{Error, put};

pub(super) struct Key<'a>(pub(super) &'a mut Vec<u8>);

fn no_key<T>() -> Result<T, Error> {
    Err(ser::Error::custom("key must be a string"))
}

/// Numbers with a fraction are keys too, but for those that JSON does not have.
fn finite<T: Serialize>(out: &mut Vec<u8>, is_finite: bool, number: &T) -> Result<(), Error> {
    if !is_finite {
        return Err(ser::Error::custom("float key must be finite (got NaN or +/-inf)"));
    }
    put_quoted(out, number)
}

fn put_quoted<T: Serialize>(out: &mut Vec<u8>, value: &T) -> Result<(), Error> {
    out.push(b'"');
    put(out, value)?;
    out.push(b'"');
    Ok(())
}

/// What is a key in quotes.
macro_rules! quoted {
    ($($method:ident($type:ty),)*) => {$(
        fn $method(self, value: $type) -> Result<(), Error> {
            put_quoted(self.0, &value)
        }
    )*};
}

impl Serializer for Key<'_> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Impossible<(), Error>;
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Impossible<(), Error>;
    type SerializeStruct = Impossible<(), Error>;
    type SerializeStructVariant = Impossible<(), Error>;

    quoted! {
        serialize_bool(bool),
        serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64), serialize_i128(i128),
        serialize_u8(u8), serialize_u16(u16), serialize_u32(u32), serialize_u64(u64), serialize_u128(u128),
    }

    fn serialize_f32(self, number: f32) -> Result<(), Error> {
        finite(self.0, number.is_finite(), &number)
    }

    fn serialize_f64(self, number: f64) -> Result<(), Error> {
        finite(self.0, number.is_finite(), &number)
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<(), Error> {
        put_text(self.0, text);
        Ok(())
    }

    fn serialize_bytes(self, _bytes: &[u8]) -> Result<(), Error> {
        no_key()
    }

    fn serialize_none(self) -> Result<(), Error> {
        no_key()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        no_key()
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Error> {
        no_key()
    }

    fn serialize_unit_variant(self, _name: &'static str, _index: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _value: &T,
    ) -> Result<(), Error> {
        no_key()
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<Self::SerializeSeq, Error> {
        no_key()
    }

    fn serialize_tuple(self, _len: usize) -> Result<Self::SerializeTuple, Error> {
        no_key()
    }

    fn serialize_tuple_struct(self, _name: &'static str, _len: usize) -> Result<Self::SerializeTupleStruct, Error> {
        no_key()
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        no_key()
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Self::SerializeMap, Error> {
        no_key()
    }

    fn serialize_struct(self, _name: &'static str, _len: usize) -> Result<Self::SerializeStruct, Error> {
        no_key()
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        no_key()
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), Error> {
        put_text(self.0, &value.to_string());
        Ok(())
    }
}
