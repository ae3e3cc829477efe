//! How a setting is read from TOML and from text, and how it is shown in the reference. One impl per type.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use factum_outbound::Network;

/// A type that a setting can have.
pub(crate) trait Value: Sized {
    /// What the reference calls the type, and what an error says was expected.
    const KIND: &'static str;

    fn from_toml(value: &toml::Value) -> Result<Self, String>;

    /// From an environment variable or a flag.
    fn from_text(text: &str) -> Result<Self, String>;

    /// The way one would write it in the file.
    fn show(&self) -> String;
}

/// What went wrong, in the same words everywhere.
pub(crate) fn unexpected<T: Value>(got: impl std::fmt::Display) -> String {
    format!("expected {}, got {got}", T::KIND)
}

macro_rules! whole_number {
    ($($number:ty),*) => {
        $(impl Value for $number {
            const KIND: &'static str = "a whole number of at least 1";

            fn from_toml(value: &toml::Value) -> Result<Self, String> {
                let number = value.as_integer().and_then(|number| <$number>::try_from(number).ok());
                number.filter(|number| *number > 0).ok_or_else(|| unexpected::<Self>(value))
            }

            fn from_text(text: &str) -> Result<Self, String> {
                let number = text.trim().replace('_', "").parse::<$number>().ok();
                number.filter(|number| *number > 0).ok_or_else(|| unexpected::<Self>(format_args!("{text:?}")))
            }

            fn show(&self) -> String {
                self.to_string()
            }
        })*
    };
}

whole_number!(u32, u64, usize);

impl Value for String {
    const KIND: &'static str = "a text";

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        value.as_str().map(str::to_owned).ok_or_else(|| unexpected::<Self>(value))
    }

    fn from_text(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }

    fn show(&self) -> String {
        format!("{self:?}")
    }
}

impl Value for bool {
    const KIND: &'static str = "true or false";

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        value.as_bool().ok_or_else(|| unexpected::<Self>(value))
    }

    fn from_text(text: &str) -> Result<Self, String> {
        text.trim().parse().map_err(|_| unexpected::<Self>(format_args!("{text:?}")))
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for Vec<String> {
    const KIND: &'static str = "a list of texts";

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        let list = value.as_array().ok_or_else(|| unexpected::<Self>(value))?;
        list.iter().map(|text| String::from_toml(text).map_err(|_| unexpected::<Self>(value))).collect()
    }

    /// In text the list is separated by commas.
    fn from_text(text: &str) -> Result<Self, String> {
        Ok(text.split(',').map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned).collect())
    }

    fn show(&self) -> String {
        format!("[{}]", self.iter().map(Value::show).collect::<Vec<_>>().join(", "))
    }
}

impl Value for PathBuf {
    const KIND: &'static str = "a path";

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        value.as_str().ok_or_else(|| unexpected::<Self>(value)).and_then(Self::from_text)
    }

    fn from_text(text: &str) -> Result<Self, String> {
        if text.is_empty() { Err(unexpected::<Self>("an empty text")) } else { Ok(text.into()) }
    }

    fn show(&self) -> String {
        format!("{:?}", self.display().to_string())
    }
}

impl Value for Vec<PathBuf> {
    const KIND: &'static str = "a list of paths";

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        let list = value.as_array().ok_or_else(|| unexpected::<Self>(value))?;
        list.iter().map(|path| PathBuf::from_toml(path).map_err(|_| unexpected::<Self>(value))).collect()
    }

    /// In text the list is separated as in `PATH`.
    fn from_text(text: &str) -> Result<Self, String> {
        Ok(text.split(':').filter(|path| !path.is_empty()).map(PathBuf::from).collect())
    }

    fn show(&self) -> String {
        format!("[{}]", self.iter().map(Value::show).collect::<Vec<_>>().join(", "))
    }
}

impl Value for Vec<Network> {
    const KIND: &'static str = "a list of networks";

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        let list = value.as_array().ok_or_else(|| unexpected::<Self>(value))?;
        list.iter()
            .map(|network| network.as_str().ok_or_else(|| unexpected::<Self>(value)).and_then(network_of))
            .collect()
    }

    fn from_text(text: &str) -> Result<Self, String> {
        text.split(',').map(str::trim).filter(|network| !network.is_empty()).map(network_of).collect()
    }

    fn show(&self) -> String {
        format!("[{}]", self.iter().map(|network| format!("\"{network}\"")).collect::<Vec<_>>().join(", "))
    }
}

/// One network. Bits behind its length are a mistake: `10.1.2.3/8` is either `10.0.0.0/8` or `10.1.2.3/32`.
fn network_of(text: &str) -> Result<Network, String> {
    let network = text.parse::<Network>().map_err(|_| format!("{text:?} is no network such as \"10.0.0.0/8\""))?;
    if network.addr() == network.network() {
        Ok(network)
    } else {
        Err(format!("{text:?} names an address in a network; write {:?}", network.trunc().to_string()))
    }
}

impl Value for SocketAddr {
    const KIND: &'static str = "an address such as 127.0.0.1:7420";

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        value.as_str().ok_or_else(|| unexpected::<Self>(value)).and_then(Self::from_text)
    }

    fn from_text(text: &str) -> Result<Self, String> {
        let local = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
        let address = local.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port))).or_else(|| text.parse().ok());
        address.ok_or_else(|| unexpected::<Self>(format_args!("{text:?}")))
    }

    fn show(&self) -> String {
        format!("\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_from_both_forms() {
        let toml = |text: &str| text.parse::<toml::Value>().unwrap();
        assert_eq!(u64::from_toml(&toml("5")), Ok(5));
        assert_eq!(u64::from_text("1_000"), Ok(1_000));
        assert_eq!(u32::from_text("0"), Err("expected a whole number of at least 1, got \"0\"".into()));
        assert_eq!(usize::from_toml(&toml("-1")), Err("expected a whole number of at least 1, got -1".into()));
        assert_eq!(SocketAddr::from_text("localhost:80"), Ok("127.0.0.1:80".parse().unwrap()));
        assert_eq!(SocketAddr::from_text("[::1]:80"), Ok("[::1]:80".parse().unwrap()));
        assert!(SocketAddr::from_text("7420").is_err());
        assert_eq!(Vec::<PathBuf>::from_text("a.toml:b.toml"), Ok(vec!["a.toml".into(), "b.toml".into()]));
        assert_eq!(Vec::<PathBuf>::from_toml(&toml("['a']")), Ok(vec!["a".into()]));
        assert!(Vec::<PathBuf>::from_toml(&toml("[1]")).is_err());
        for nowhere in [PathBuf::from_toml(&toml("''")), PathBuf::from_text("")] {
            assert_eq!(nowhere, Err("expected a path, got an empty text".into()));
        }
        assert!(Vec::<PathBuf>::from_toml(&toml("['a', '']")).is_err());
        let networks = vec!["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()];
        assert_eq!(Vec::<Network>::from_text("10.0.0.0/8, fd00::/8"), Ok(networks.clone()));
        assert_eq!(Vec::<Network>::from_toml(&toml("['10.0.0.0/8', 'fd00::/8']")), Ok(networks.clone()));
        assert_eq!(networks.show(), "[\"10.0.0.0/8\", \"fd00::/8\"]");
        let close = "\"10.1.2.3/8\" names an address in a network; write \"10.0.0.0/8\"";
        assert_eq!(Vec::<Network>::from_text("10.1.2.3/8"), Err(close.into()));
        assert!(Vec::<Network>::from_text("10.0.0.0").is_err());
        assert_eq!(bool::from_toml(&toml("true")), Ok(true));
        assert_eq!(bool::from_text(" false "), Ok(false));
        assert_eq!(bool::from_text("yes"), Err("expected true or false, got \"yes\"".into()));
        assert_eq!(Vec::<String>::from_text("a, b,"), Ok(vec!["a".into(), "b".into()]));
        assert_eq!(Vec::<String>::from_toml(&toml("['a']")), Ok(vec!["a".into()]));
        assert!(Vec::<String>::from_toml(&toml("[1]")).is_err());
    }
}
