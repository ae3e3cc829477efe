//! Params and results are read as they were written. Here because the macro that names every command is.

use std::error::Error;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::*;
use crate::samples;

#[test]
fn params_and_results_survive() -> Result<(), Box<dyn Error>> {
    macro_rules! check_all {
        ($($params:ident,)*) => {$(
            check::<$params>()?;
            check::<<$params as Command>::Output>()?;
        )*};
    }
    for_each_command!(check_all);
    Ok(())
}

fn check<T: Serialize + DeserializeOwned + schemars::JsonSchema>() -> Result<(), Box<dyn Error>> {
    for value in samples::values::<T>() {
        let read: T = serde_json::from_value(value.clone()).map_err(|error| format!("{error} in {value:#}"))?;
        assert_eq!(serde_json::to_value(read)?, value, "{}", T::schema_name());
    }
    Ok(())
}
