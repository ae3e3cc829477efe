//! A principal as somebody typed it: alone, or with a role behind it.
//!
//! Any text may be somebody's name, so a doubtful one is used as it is; but a slip would go unnoticed, because nobody answers
//! to it. So there is a word about it.

use clap::ValueEnum;
use factum_model::commands::NewChannelMember;
use factum_model::messaging::ChannelRole;

use super::Here;
use crate::nearest::nearest;
use crate::render::{Breaks, clean};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Role {
    /// Manages the channel.
    Owner,
    /// Reads and publishes.
    Member,
    /// A member, for now.
    Moderator,
}

impl From<Role> for ChannelRole {
    fn from(role: Role) -> Self {
        match role {
            Role::Owner => Self::Owner,
            Role::Member => Self::Member,
            Role::Moderator => Self::Moderator,
        }
    }
}

/// `agent://bob` or `agent://bob:owner`.
pub(super) fn parse_member(text: &str) -> Result<NewChannelMember, String> {
    let plain = NewChannelMember { principal_id: text.to_owned(), role: None };
    let Some((principal, word)) = behind_a_colon(text) else { return Ok(plain) };
    if let Ok(role) = Role::from_str(word, false) {
        return Ok(NewChannelMember { principal_id: principal.to_owned(), role: Some(role.into()) });
    }
    // A port is part of the name; a slip in a role would be too, and nobody would notice.
    match nearest(word, ["owner", "member", "moderator"]) {
        Some(meant) => Err(format!("there is no role {word:?}; did you mean {meant:?}?")),
        None => Ok(plain),
    }
}

/// Says so where nobody may be called what was typed.
pub(super) fn remark(principal: &str, here: &Here) {
    if let Some(doubt) = doubt(principal) {
        here.output.note(format_args!("note: {}", clean(&doubt, Breaks::Shown)));
    }
}

fn doubt(principal: &str) -> Option<String> {
    if !principal.contains(':') {
        let usual = "principals usually have one, such as";
        return Some(format!("{principal} has no scheme; {usual} agent://{principal}"));
    }
    let (_, word) = behind_a_colon(principal)?;
    let is_word = !word.is_empty() && word.chars().all(char::is_alphabetic);
    is_word.then(|| format!("{word} is no role, so it is part of the name {principal}"))
}

/// What stands before and behind the last colon. What stands behind that of a scheme is the name itself.
fn behind_a_colon(text: &str) -> Option<(&str, &str)> {
    text.rsplit_once(':').filter(|(_, word)| !word.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_may_have_a_role() {
        let parsed = |text| parse_member(text).map(|member| (member.principal_id, member.role));
        let named = |name: &str, role| Ok((name.to_owned(), role));
        assert_eq!(parsed("agent://bob"), named("agent://bob", None));
        assert_eq!(parsed("agent://bob:owner"), named("agent://bob", Some(ChannelRole::Owner)));
        assert_eq!(parsed("agent://host:8080"), named("agent://host:8080", None));
        assert_eq!(parsed("agent://host:8080/bob"), named("agent://host:8080/bob", None));
        assert_eq!(parsed("agent://owner"), named("agent://owner", None), "a name is no role");
        assert!(parsed("agent://bob:ownr").unwrap_err().contains("did you mean \"owner\"?"));
    }

    #[test]
    fn there_is_a_word_about_names_that_are_likely_slips() {
        for (principal, doubtful) in [
            ("bob", true),
            ("agent://bob:king", true),
            ("agent://bob", false),
            ("agent://host:8080", false),
            ("agent://host:8080/bob", false),
            ("mailto:bob@example.com", false),
        ] {
            assert_eq!(doubt(principal).is_some(), doubtful, "{principal}");
        }
        assert_eq!(doubt("bob").unwrap(), "bob has no scheme; principals usually have one, such as agent://bob");
    }
}
