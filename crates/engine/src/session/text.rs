//! Cutting texts to what a list or the state keeps of them. The log has them whole.

/// The first characters of a text, with an ellipsis where something is left out.
pub(crate) fn clip(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}
