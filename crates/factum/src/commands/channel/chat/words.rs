//! What a person can say in a chat: messages, and commands that start with a slash.

use crate::nearest::did_you_mean;

use super::super::message::MessageRef;

pub(super) const HELP: &str = "\
/who                  who follows the channel right now
/members              who is in it
/reply MESSAGE TEXT   answer a message, by its number or id
/quit                 leave; so does Ctrl-D
//TEXT                a message that starts with a slash";

const COMMANDS: [&str; 5] = ["/who", "/members", "/reply", "/help", "/quit"];

/// A line, understood.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    Post(String),
    Reply(MessageRef, String),
    Who,
    Members,
    Help,
    Quit,
    /// Not understood, and why.
    Wrong(String),
}

impl Said {
    pub(super) fn read(line: &str) -> Self {
        if !line.starts_with('/') {
            return Self::Post(line.to_owned());
        }
        if let Some(text) = line.strip_prefix("//") {
            return Self::Post(format!("/{text}"));
        }
        let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match (command, rest.trim()) {
            ("/reply", rest) => reply(rest),
            ("/who", "") => Self::Who,
            ("/members", "") => Self::Members,
            ("/help", "") => Self::Help,
            ("/quit", "") => Self::Quit,
            (command, _) if COMMANDS.contains(&command) => Self::Wrong(format!("{command} stands alone")),
            (command, _) => {
                let hint = did_you_mean(command, COMMANDS);
                Self::Wrong(format!(
                    "there is no command {command:?}{hint}\n/help names them all; // begins a message with a slash"
                ))
            }
        }
    }
}

fn reply(rest: &str) -> Said {
    let (message, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match (message.parse(), text.trim()) {
        (Ok(message), text) if !text.is_empty() => Said::Reply(message, text.to_owned()),
        (Ok(_), _) => Said::Wrong("/reply MESSAGE TEXT: the text is missing".to_owned()),
        (Err(why), _) => Said::Wrong(format!("/reply MESSAGE TEXT: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_messages_unless_they_start_with_a_slash() {
        for (line, expected) in [
            ("hello /who", Said::Post("hello /who".into())),
            ("//etc/passwd", Said::Post("/etc/passwd".into())),
            ("/who", Said::Who),
            ("/quit ", Said::Quit),
            ("/quit now", Said::Wrong("/quit stands alone".into())),
            ("/reply 3  yes, of course", Said::Reply(MessageRef::Sequence(3), "yes, of course".into())),
            ("/reply 3", Said::Wrong("/reply MESSAGE TEXT: the text is missing".into())),
        ] {
            assert_eq!(Said::read(line), expected, "{line}");
        }
        for (line, hint) in [("/qiut", "did you mean \"/quit\"?"), ("/reply first hi", "such as 12 or msg_")] {
            assert!(matches!(Said::read(line), Said::Wrong(why) if why.contains(hint)), "{line}");
        }
    }
}
