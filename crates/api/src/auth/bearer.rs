//! The `Authorization` header: finding the token in it. What the token is worth is decided elsewhere.

/// The longest header value looked at. Tokens of large identity providers stay below a quarter of it.
pub(super) const AUTHORIZATION_BYTES_MAX: usize = 8 * 1024;

/// The token of a well-formed `Bearer` header. The scheme's case does not matter (RFC 9110 §11.1).
pub(super) fn token(header: &str) -> Option<&str> {
    if header.len() > AUTHORIZATION_BYTES_MAX {
        return None;
    }
    let (scheme, rest) = header.split_once(' ')?;
    let token = rest.trim_start_matches(' ');
    let whole = !token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic());
    (scheme.eq_ignore_ascii_case("bearer") && whole).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_well_formed_bearer_headers_have_a_token() {
        for good in ["Bearer abc", "bearer abc", "BEARER   abc"] {
            assert_eq!(token(good), Some("abc"), "{good:?}");
        }
        let huge = format!("Bearer {}", "a".repeat(AUTHORIZATION_BYTES_MAX));
        for bad in [
            "",
            " ",
            "Bearer",
            "Bearer ",
            "Bearer  ",
            "Bearerabc",
            " Bearer abc",
            "Basic abc",
            "Bearer a b",
            "Bearer abc ",
            "Bearer\tabc",
            "Bearer a\tb",
            "Bearer a\nb",
            "Bearer ä",
            "Bearer a\0",
            "abc",
            "Bearer, abc",
            &huge,
        ] {
            assert_eq!(token(bad), None, "{bad:?}");
        }
    }
}
