//! Reading params, and saying which field is wrong and why where they do not fit.

use a2a::{A2AError, FieldViolation};
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use crate::fault::{invalid, invalid_field};

/// Reads an object right from its bytes. Only where that fails it is read once more, to find out which field it was.
pub(crate) fn read<T: DeserializeOwned>(params: &str) -> Result<T, A2AError> {
    // A list of values in the order of the fields would be read as params, too.
    if !params.trim_start().starts_with('{') {
        return Err(A2AError::invalid_params("params must be an object"));
    }
    serde_json::from_str(params).map_err(|error| match error.classify() {
        // No field is wrong where there are none to be read.
        Category::Syntax | Category::Eof => A2AError::parse_error(format!("this is not JSON: {error}")),
        _ => explain::<T>(params).unwrap_or_else(|| plain(&error)),
    })
}

fn plain(error: &serde_json::Error) -> A2AError {
    A2AError::invalid_params(format!("the params do not fit: {error}"))
}

fn explain<T: DeserializeOwned>(params: &str) -> Option<A2AError> {
    let mut deserializer = serde_json::Deserializer::from_str(params);
    let error = serde_path_to_error::deserialize::<_, T>(&mut deserializer).err()?;
    let path = error.path().to_string();
    let text = error.inner().to_string();
    // Where in the text it was is of no use beside the name of the field.
    let text = text.split(" at line ").next().unwrap_or_default();
    let missing = text.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
    Some(match (missing, path.as_str()) {
        (Some(field), ".") => invalid_field(field, "is required"),
        (Some(field), path) => invalid_field(format!("{path}.{field}"), "is required"),
        (None, ".") => plain(error.inner()),
        (None, path) => invalid_field(path, text),
    })
}

/// Collects everything that is wrong, so that a client learns it at once.
#[derive(Default)]
pub(crate) struct Violations(Vec<FieldViolation>);

impl Violations {
    pub(crate) fn unless(&mut self, fine: bool, field: &str, description: impl Into<String>) {
        if !fine {
            self.add(field, description);
        }
    }

    pub(crate) fn add(&mut self, field: impl Into<String>, description: impl Into<String>) {
        self.0.push(FieldViolation { field: field.into(), description: description.into() });
    }

    /// Adds what another check found.
    pub(crate) fn joined<T>(mut self, other: Result<T, A2AError>) -> Result<T, A2AError> {
        if self.0.is_empty() {
            return other;
        }
        let details = other.as_ref().err().and_then(|error| error.details.as_ref());
        let violations = details.into_iter().flatten().filter_map(|detail| detail.value.get("fieldViolations"));
        self.0.extend(
            violations.flat_map(|list| serde_json::from_value::<Vec<FieldViolation>>(list.clone()).unwrap_or_default()),
        );
        Err(invalid(self.0))
    }

    pub(crate) fn into_result(self) -> Result<(), A2AError> {
        if self.0.is_empty() { Ok(()) } else { Err(invalid(self.0)) }
    }
}
