//! The artifacts of a task: what its agent kept, and the text of its answers, which is the artifact `response` of each turn.
//!
//! Text is shown as it comes. A request to the model that fails and is asked again begins its text anew, so what it had
//! streamed is taken back: the next piece replaces the whole. What the last request had streamed stays.

use factum_model::Event;
use factum_model::events::{ArtifactChanged, ModelCompleted};
use factum_model::id::TurnId;

use super::{Piece, Shown};

/// What the text of an agent's answers is called.
const RESPONSE: &str = "response";

#[derive(Clone, Debug, Default)]
pub(super) struct Artifacts {
    pub(super) all: Vec<Artifact>,
    /// Nobody asks for them as they stand any more.
    changes_only: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Artifact {
    pub(super) id: String,
    pub(super) name: Option<String>,
    pub(super) content: Content,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    Answer(Answer),
    Output(Box<factum_model::value::OutputRef>),
}

/// The text of a turn's answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub(super) text: String,
    /// How much of it belongs to answers that are whole.
    whole: usize,
    /// The client has text that was taken back.
    stale: bool,
}

impl Artifact {
    fn is_stale(&self) -> bool {
        matches!(&self.content, Content::Answer(answer) if answer.stale)
    }
}

impl Artifacts {
    pub(super) fn show_changes_only(&mut self) {
        self.changes_only = true;
        self.all.retain(|artifact| matches!(artifact.content, Content::Answer(_)));
    }

    pub(super) fn delta(&mut self, event: &Event, text: &str) -> Vec<Shown> {
        let Some((id, answer)) = event.scope.turn_id.as_ref().and_then(|turn_id| self.answer(turn_id)) else {
            return Vec::new();
        };
        let first = answer.text.is_empty();
        answer.text.push_str(text);
        let append = !first && !answer.stale;
        let piece = if std::mem::take(&mut answer.stale) { answer.text.clone() } else { text.to_owned() };
        vec![shown(id, piece, append, false)]
    }

    /// The request gave no answer and is asked again.
    pub(super) fn cut_off(&mut self, event: &Event) {
        let Some(turn_id) = &event.scope.turn_id else { return };
        let id = response_id(turn_id);
        if let Some(Content::Answer(answer)) = self.get(&id).map(|artifact| &mut artifact.content)
            && answer.text.len() > answer.whole
        {
            answer.text.truncate(answer.whole);
            answer.stale = true;
        }
    }

    /// Nothing is asked again: what clients have of text that was taken back is replaced, if need be by nothing.
    pub(super) fn settled(&mut self) -> Vec<Shown> {
        let mut replaced = Vec::new();
        for artifact in &mut self.all {
            if let Content::Answer(answer) = &mut artifact.content
                && std::mem::take(&mut answer.stale)
            {
                replaced.push(shown(artifact.id.clone(), answer.text.clone(), false, true));
            }
        }
        replaced
    }

    pub(super) fn answered(&mut self, event: &Event, fact: &ModelCompleted) -> Vec<Shown> {
        let Some(turn_id) = &event.scope.turn_id else { return Vec::new() };
        let text = fact.text.as_deref().unwrap_or_default();
        if text.is_empty() && !self.has(&response_id(turn_id)) {
            return Vec::new();
        }
        let Some((id, answer)) = self.answer(turn_id) else { return Vec::new() };
        let unseen = answer.text.len() == answer.whole && !text.is_empty();
        let first = answer.text.is_empty();
        if unseen {
            answer.text.push_str(text);
        }
        answer.whole = answer.text.len();
        // Nothing comes behind an answer that calls no tools, so its text is whole.
        let last = fact.tool_calls == 0;
        let piece = match (unseen, std::mem::take(&mut answer.stale)) {
            // A model that does not stream: its answer comes at once.
            (true, false) => Some((text.to_owned(), !first)),
            // What the client has of an answer that was taken back is replaced, if need be by nothing.
            (_, true) => Some((answer.text.clone(), false)),
            // Which piece was the last is known only now: nothing is added to it.
            (false, false) => last.then(|| (String::new(), true)),
        };
        piece.map(|(text, append)| shown(id, text, append, last)).into_iter().collect()
    }

    pub(super) fn changed(&mut self, event: &Event, fact: &ArtifactChanged) -> Vec<Shown> {
        let (Some(artifact_id), Some(content)) = (&event.scope.artifact_id, &fact.content) else { return Vec::new() };
        let (id, name) = (artifact_id.as_str().to_owned(), fact.name.clone());
        let content = Box::new(content.clone());
        let keeps = !self.changes_only;
        match self.get(&id) {
            Some(known) => known.content = Content::Output(content.clone()),
            None if keeps => {
                self.all.push(Artifact {
                    id: id.clone(),
                    name: name.clone(),
                    content: Content::Output(content.clone()),
                });
            }
            None => {}
        }
        vec![Shown::Artifact { artifact_id: id, name, piece: Piece::Output(content), append: false, last: true }]
    }

    pub(super) fn remove(&mut self, event: &Event) {
        let id = event.scope.artifact_id.as_ref().map(|id| id.as_str());
        self.all.retain(|artifact| Some(artifact.id.as_str()) != id);
    }

    /// The text of all answers.
    pub(super) fn text(&self) -> String {
        let texts = self.all.iter().filter_map(|artifact| match &artifact.content {
            Content::Answer(answer) => Some(answer.text.as_str()),
            Content::Output(_) => None,
        });
        texts.collect()
    }

    fn has(&self, id: &str) -> bool {
        self.all.iter().any(|artifact| artifact.id == id)
    }

    fn get(&mut self, id: &str) -> Option<&mut Artifact> {
        self.all.iter_mut().find(|artifact| artifact.id == id)
    }

    /// The turn's answer; begun where there is none yet.
    fn answer(&mut self, turn_id: &TurnId) -> Option<(String, &mut Answer)> {
        let id = response_id(turn_id);
        if !self.has(&id) {
            if self.changes_only {
                // A turn begins to answer when the one before is over. What clients have of that stays, unless it was taken back.
                self.all.retain(|artifact| artifact.is_stale());
            }
            let content = Content::Answer(Answer::default());
            self.all.push(Artifact { id: id.clone(), name: Some(RESPONSE.to_owned()), content });
        }
        match &mut self.get(&id)?.content {
            Content::Answer(answer) => Some((id, answer)),
            Content::Output(_) => None,
        }
    }
}

fn response_id(turn_id: &TurnId) -> String {
    [RESPONSE, "-", turn_id.as_str()].concat()
}

fn shown(artifact_id: String, text: String, append: bool, last: bool) -> Shown {
    Shown::Artifact { artifact_id, name: Some(RESPONSE.to_owned()), piece: Piece::Text(text), append, last }
}
