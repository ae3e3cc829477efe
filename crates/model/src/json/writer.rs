//! The serializer behind [`put`](super::put).

use std::fmt::{self, Display, Write};

use serde::Serialize;
use serde::ser::{self, Serializer};

use super::key::Key;
use super::text::{put_escaped, put_text};
use super::{Error, put};

/// The struct by which `serde_json` hands on text that is JSON already.
const RAW: &str = "$serde_json::private::RawValue";

pub(super) struct Writer<'a>(pub(super) &'a mut Vec<u8>);

impl Writer<'_> {
    fn all(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    /// `{"Variant":`
    fn begin_variant(&mut self, variant: &str) {
        self.0.push(b'{');
        put_text(self.0, variant);
        self.0.push(b':');
    }
}

macro_rules! integers {
    ($($method:ident($type:ty),)*) => {$(
        fn $method(self, number: $type) -> Result<(), Error> {
            self.all(itoa::Buffer::new().format(number).as_bytes())
        }
    )*};
}

impl<'a, 'b> Serializer for &'a mut Writer<'b> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Several<'a>;
    type SerializeTuple = Several<'a>;
    type SerializeTupleStruct = Several<'a>;
    type SerializeTupleVariant = Several<'a>;
    type SerializeMap = Several<'a>;
    type SerializeStruct = Fields<'a>;
    type SerializeStructVariant = Several<'a>;

    integers! {
        serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64), serialize_i128(i128),
        serialize_u8(u8), serialize_u16(u16), serialize_u32(u32), serialize_u64(u64), serialize_u128(u128),
    }

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.all(if value { b"true" } else { b"false" })
    }

    fn serialize_f32(self, number: f32) -> Result<(), Error> {
        serde_json::to_writer(&mut *self.0, &number)
    }

    fn serialize_f64(self, number: f64) -> Result<(), Error> {
        serde_json::to_writer(&mut *self.0, &number)
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<(), Error> {
        put_text(self.0, text);
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Error> {
        self.collect_seq(bytes)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.all(b"null")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.all(b"null")
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Error> {
        self.all(b"null")
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
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.begin_variant(variant);
        value.serialize(&mut *self)?;
        self.all(b"}")
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<Several<'a>, Error> {
        Ok(Several::begin(self.0, b'[', "]"))
    }

    fn serialize_tuple(self, _len: usize) -> Result<Several<'a>, Error> {
        Ok(Several::begin(self.0, b'[', "]"))
    }

    fn serialize_tuple_struct(self, _name: &'static str, _len: usize) -> Result<Several<'a>, Error> {
        Ok(Several::begin(self.0, b'[', "]"))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Several<'a>, Error> {
        self.begin_variant(variant);
        Ok(Several::begin(self.0, b'[', "]}"))
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Several<'a>, Error> {
        Ok(Several::begin(self.0, b'{', "}"))
    }

    fn serialize_struct(self, name: &'static str, _len: usize) -> Result<Fields<'a>, Error> {
        Ok(if name == RAW { Fields::Raw(self.0) } else { Fields::Of(Several::begin(self.0, b'{', "}")) })
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Several<'a>, Error> {
        self.begin_variant(variant);
        Ok(Several::begin(self.0, b'{', "}}"))
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), Error> {
        self.0.push(b'"');
        write!(Escaping(self.0), "{value}").map_err(|_| ser::Error::custom("a text could not be made"))?;
        self.all(b"\"")
    }
}

/// Takes a text in pieces.
struct Escaping<'a>(&'a mut Vec<u8>);

impl Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        put_escaped(self.0, text);
        Ok(())
    }
}

/// An array or an object under way.
pub(super) struct Several<'a> {
    out: &'a mut Vec<u8>,
    is_first: bool,
    end: &'static str,
}

impl<'a> Several<'a> {
    fn begin(out: &'a mut Vec<u8>, start: u8, end: &'static str) -> Self {
        out.push(start);
        Self { out, is_first: true, end }
    }

    #[inline]
    fn separate(&mut self) {
        if !self.is_first {
            self.out.push(b',');
        }
        self.is_first = false;
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.separate();
        put(self.out, value)
    }

    /// `"name":`, behind a comma where there is one before.
    fn name(&mut self, name: &str) {
        self.separate();
        put_text(self.out, name);
        self.out.push(b':');
    }

    #[inline]
    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        self.name(name);
        put(self.out, value)
    }

    fn finish(self) -> Result<(), Error> {
        self.out.extend_from_slice(self.end.as_bytes());
        Ok(())
    }
}

/// The fields of a struct, which may be JSON as it is.
pub(super) enum Fields<'a> {
    Of(Several<'a>),
    Raw(&'a mut Vec<u8>),
}

impl ser::SerializeStruct for Fields<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        match self {
            Self::Of(fields) => fields.field(name, value),
            // `serde_json` writes these as they are, and knows how to take the text out.
            Self::Raw(out) => serde_json::to_writer(&mut **out, &Raw(value)),
        }
    }

    fn end(self) -> Result<(), Error> {
        match self {
            Self::Of(fields) => fields.finish(),
            Self::Raw(_) => Ok(()),
        }
    }
}

/// A raw value again, for `serde_json`.
struct Raw<'a, T: ?Sized>(&'a T);

impl<T: Serialize + ?Sized> Serialize for Raw<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut raw = serializer.serialize_struct(RAW, 1)?;
        ser::SerializeStruct::serialize_field(&mut raw, RAW, self.0)?;
        ser::SerializeStruct::end(raw)
    }
}

macro_rules! elements {
    ($($name:ident::$method:ident,)*) => {$(
        impl ser::$name for Several<'_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.element(value)
            }

            fn end(self) -> Result<(), Error> {
                self.finish()
            }
        }
    )*};
}

elements! {
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field,
}

impl ser::SerializeStructVariant for Several<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        self.field(name, value)
    }

    fn end(self) -> Result<(), Error> {
        self.finish()
    }
}

impl ser::SerializeMap for Several<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.separate();
        key.serialize(Key(self.out))?;
        self.out.push(b':');
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        put(self.out, value)
    }

    fn end(self) -> Result<(), Error> {
        self.finish()
    }
}
