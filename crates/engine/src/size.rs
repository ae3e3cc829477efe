//! How large a value is as JSON, for bounds. Nothing is kept of what is written.

use std::io;

use serde::Serialize;

/// The bytes of a value as JSON. What cannot be written is over every bound.
pub fn json_bytes(value: &(impl Serialize + ?Sized)) -> usize {
    let mut count = Count(0);
    serde_json::to_writer(&mut count, value).map_or(usize::MAX, |()| count.0)
}

/// Counts what is written to it.
struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_as_large_as_it_is_written() {
        for value in [json!(null), json!({ "é": [1, "\n"] }), json!("x".repeat(1_000))] {
            assert_eq!(json_bytes(&value), value.to_string().len(), "{value}");
        }
        assert_eq!(json_bytes(&std::collections::BTreeMap::from([((), 1)])), usize::MAX, "keys are texts");
    }
}
