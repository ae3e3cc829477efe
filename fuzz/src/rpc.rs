//! The judge of JSON-RPC: what a body is owed, read a second time and in another way than the server reads it.

use std::fmt;

use factum_model::id::ChannelId;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The member that says which remote channel a request comes through.
const CHANNEL: &str = "channel_id";

/// What one request is owed.
#[derive(Debug, PartialEq, Eq)]
pub enum Owed {
    /// It is a notification: no answer, whatever happens.
    Nothing,
    /// An answer under this id.
    Answer(String),
    /// It is no request: an error, under its id where one can be read, and under `null` otherwise.
    Error(String),
}

impl Owed {
    fn unnamed() -> Self {
        Self::Error("null".to_owned())
    }
}

/// What a body is owed.
#[derive(Debug, PartialEq, Eq)]
pub enum Expected {
    One(Owed),
    Batch(Vec<Owed>),
}

/// The members of an object in order, each as its text; an object with a member twice is none.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Members, A::Error> {
                let mut members: Vec<(String, Box<RawValue>)> = Vec::new();
                while let Some((name, value)) = entries.next_entry()? {
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Read)
    }
}

impl Members {
    fn count(&self, name: &str) -> usize {
        self.0.iter().filter(|(other, _)| other == name).count()
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.get())
    }

    fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?).ok()
    }
}

/// What a body is owed by JSON-RPC 2.0, within the server's bound on the size of a batch. How deep params are is for whoever reads
/// them: a request with params that are refused has its answer.
pub fn expected(body: &[u8], batch_max: usize) -> Expected {
    let Some(raw) = std::str::from_utf8(body).ok().and_then(|text| serde_json::from_str::<&RawValue>(text).ok()) else {
        return Expected::One(Owed::unnamed());
    };
    if !raw.get().starts_with('[') {
        return Expected::One(owed(raw.get()));
    }
    let requests: Vec<&RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
    if requests.is_empty() || requests.len() > batch_max {
        return Expected::One(Owed::unnamed());
    }
    Expected::Batch(requests.into_iter().map(|request| owed(request.get())).collect())
}

fn owed(request: &str) -> Owed {
    let Ok(members) = serde_json::from_str::<Members>(request) else { return Owed::unnamed() };
    let id = members.get("id").filter(|id| members.count("id") == 1 && !id.starts_with(['[', '{', 't', 'f']));
    let error = || id.map_or_else(Owed::unnamed, |id| Owed::Error(id.to_owned()));
    let once = ["jsonrpc", "method", "params", "id", CHANNEL].iter().all(|name| members.count(name) <= 1);
    // Ours, beside the members of JSON-RPC: one that is no id makes it no request.
    let through = members.get(CHANNEL).is_none_or(|id| serde_json::from_str::<Option<ChannelId>>(id).is_ok());
    if !once || !through || members.text("jsonrpc").as_deref() != Some("2.0") || members.text("method").is_none() {
        return error();
    }
    match (members.get("id"), id) {
        (None, _) => Owed::Nothing,
        (Some(_), None) => error(),
        (Some(_), Some(id)) => Owed::Answer(id.to_owned()),
    }
}

/// Fails where the answer is not what the body is owed.
pub fn judge(expected: &Expected, answer: Option<&[u8]>) {
    let answer = answer.map(|bytes| std::str::from_utf8(bytes).expect("an answer is UTF-8"));
    match expected {
        Expected::One(owed) => judge_one(owed, answer),
        Expected::Batch(all) => {
            let answers: Vec<&RawValue> = answer.map_or_else(Vec::new, |answer| {
                assert!(answer.starts_with('['), "a batch is answered by a list: {answer}");
                serde_json::from_str(answer).unwrap_or_else(|error| panic!("{error}: {answer}"))
            });
            assert!(answer.is_none() || !answers.is_empty(), "an empty list is no answer");
            let due = all.iter().filter(|owed| **owed != Owed::Nothing);
            assert_eq!(answers.len(), due.clone().count(), "answers to a batch");
            due.zip(answers).for_each(|(owed, answer)| judge_one(owed, Some(answer.get())));
        }
    }
}

pub fn judge_one(owed: &Owed, answer: Option<&str>) {
    let Some(answer) = answer else {
        return assert_eq!(*owed, Owed::Nothing, "no answer");
    };
    let Answer { id, error } = read(answer);
    match owed {
        Owed::Nothing => panic!("a notification was answered: {answer}"),
        Owed::Answer(expected) => {
            assert_eq!(id, *expected, "the id of {answer}");
            // A request that can be told from others is never taken for none.
            assert!(!matches!(error, Some(-32700 | -32600)), "{answer}");
        }
        Owed::Error(expected) => {
            assert_eq!(id, *expected, "{answer}");
            assert!(error.is_some(), "{answer}");
        }
    }
}

/// An answer that is well formed.
pub struct Answer {
    /// As it was written.
    pub id: String,
    pub error: Option<i64>,
}

/// Reads an answer, and fails where it is not JSON-RPC 2.0 or tells of a defect of ours.
pub fn read(answer: &str) -> Answer {
    let members: Members = serde_json::from_str(answer).unwrap_or_else(|error| panic!("{error}: {answer}"));
    let names: Vec<&str> = members.0.iter().map(|(name, _)| name.as_str()).collect();
    let result = names == ["jsonrpc", "result", "id"];
    assert!(result || names == ["jsonrpc", "error", "id"], "the members of {answer}");
    assert_eq!(members.text("jsonrpc").as_deref(), Some("2.0"));
    let id = members.get("id").unwrap_or_default().to_owned();
    if result {
        return Answer { id, error: None };
    }
    let error: Value = members.get("error").and_then(|error| serde_json::from_str(error).ok()).unwrap_or_default();
    Answer { id, error: Some(judge_error(&error)) }
}

/// The code of an error object that is as it should be.
fn judge_error(error: &Value) -> i64 {
    let number = error["code"].as_i64().unwrap_or_else(|| panic!("a code: {error}"));
    let word = error["data"]["code"].as_str().unwrap_or_else(|| panic!("data.code: {error}"));
    assert_eq!(error["message"], error["data"]["message"], "{error}");
    assert_ne!(word, "internal", "a defect of ours: {error}");
    let fitting: &[i64] = match word {
        "invalid_params" => &[-32700, -32600, -32602],
        "not_found" => &[-32601, -32000],
        _ => &[-32000],
    };
    assert!(fitting.contains(&number), "{error}");
    number
}
