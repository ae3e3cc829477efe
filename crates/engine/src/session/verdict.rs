//! What an answer to an action means.

use factum_model::events::{ActionRequired, ActionType};
use serde_json::Value;

/// The meaning of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Allow,
    /// Do not.
    Deny,
    /// For actions with words of their own, such as the review of a lost call.
    Other,
}

/// Words people and clients use for the same two decisions. Everything else is not a decision of a permission request.
const ALLOW: [&str; 6] = ["allow", "approve", "approved", "allowed", "accept", "yes"];
const DENY: [&str; 8] = ["deny", "reject", "denied", "rejected", "decline", "declined", "cancel", "no"];

/// Reads a decision, or `None` where the action does not understand it. Silence, nonsense and near misses are never
/// approvals.
pub fn verdict(action: &ActionRequired, decision: &str) -> Option<Verdict> {
    let word = decision.trim().to_ascii_lowercase();
    if word.is_empty() {
        return None;
    }
    match action.action_type {
        ActionType::ToolPermission | ActionType::Authorization => permission(&word),
        ActionType::Input | ActionType::Custom if action.decisions.is_empty() => {
            let declined = ["decline", "declined", "deny", "cancel"].contains(&word.as_str());
            Some(if declined { Verdict::Deny } else { Verdict::Allow })
        }
        ActionType::Input | ActionType::Custom | ActionType::Review => {
            action.decisions.iter().any(|known| known.eq_ignore_ascii_case(&word)).then_some(Verdict::Other)
        }
    }
}

/// Whether a decision is this word, written as people write it.
pub(super) fn is_word(decision: &str, word: &str) -> bool {
    decision.trim().eq_ignore_ascii_case(word)
}

/// Whether a text is a decision of a permission request, as a whole.
pub(super) fn is_decision(text: &str) -> bool {
    permission(&text.trim().to_ascii_lowercase()).is_some()
}

fn permission(word: &str) -> Option<Verdict> {
    if ALLOW.contains(&word) {
        return Some(Verdict::Allow);
    }
    DENY.contains(&word).then_some(Verdict::Deny)
}

/// The answer to a question as a text: the payload's own text where it has one, else the decision itself.
pub fn answer_text(decision: &str, payload: Option<&Value>) -> String {
    match payload {
        None | Some(Value::Null) => decision.to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Object(map)) => ["text", "answer", "value", "input"]
            .iter()
            .find_map(|key| map.get(*key).and_then(Value::as_str))
            .map_or_else(|| Value::Object(map.clone()).to_string(), str::to_owned),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use factum_model::events::OnTimeout;
    use factum_model::value::Metadata;
    use serde_json::json;

    use super::*;

    fn action(action_type: ActionType, decisions: &[&str]) -> ActionRequired {
        ActionRequired {
            action_type,
            prompt: String::new(),
            decisions: decisions.iter().map(|word| (*word).to_owned()).collect(),
            input_schema: None,
            policy: None,
            tool_name: None,
            arguments_digest: None,
            scope: Metadata::new(),
            timeout_at: None,
            on_timeout: OnTimeout::Wait,
        }
    }

    #[test]
    fn only_clear_words_decide_a_permission() {
        let permission = action(ActionType::ToolPermission, &["allow", "deny"]);
        let table = [
            ("allow", Some(Verdict::Allow)),
            ("Approve", Some(Verdict::Allow)),
            (" approve ", Some(Verdict::Allow)),
            ("deny", Some(Verdict::Deny)),
            ("no", Some(Verdict::Deny)),
            ("", None),
            ("approv", None),
            ("allow?", None),
            ("true", None),
            ("not allow", None),
        ];
        for (word, expected) in table {
            assert_eq!(verdict(&permission, word), expected, "{word:?}");
        }
    }

    #[test]
    fn questions_take_any_answer_and_reviews_only_their_own_words() {
        let question = action(ActionType::Input, &[]);
        assert_eq!(verdict(&question, "blue"), Some(Verdict::Allow));
        assert_eq!(verdict(&question, "decline"), Some(Verdict::Deny));
        let review = action(ActionType::Review, &["retry", "skip"]);
        assert_eq!(verdict(&review, "retry"), Some(Verdict::Other));
        assert_eq!(verdict(&review, "allow"), None);
    }

    #[test]
    fn answers_are_found_where_clients_put_them() {
        assert_eq!(answer_text("blue", None), "blue");
        assert_eq!(answer_text("answer", Some(&json!("blue"))), "blue");
        assert_eq!(answer_text("answer", Some(&json!({"text": "blue"}))), "blue");
        assert_eq!(answer_text("answer", Some(&json!({"answer": "blue"}))), "blue");
        assert_eq!(answer_text("answer", Some(&json!({"colour": 1}))), r#"{"colour":1}"#);
        assert_eq!(answer_text("answer", Some(&json!(7))), "7");
    }
}
