//! A peer in memory that outlives restarts of the runtime: it can be cut off, lose an answer on its way, keep keys or not,
//! stream or not, and remembers everything it was told.

use std::sync::Arc;

use async_trait::async_trait;
use factum_model::peer::{DeliveryMechanism, PeerRecovery, Transport};
use factum_model::task::TaskStatus;
use factum_runtime::{
    Answer, ArtifactContent, Delegate, Described, Errand, Follow, Found, Given, PeerView, Remote, Terms, Trouble,
    ViewedArtifact,
};
use parking_lot::Mutex;
use tokio::sync::watch;

#[derive(Clone, Debug, Default)]
pub(super) struct Task {
    pub(super) id: String,
    pub(super) message_id: String,
    pub(super) text: String,
    pub(super) state: &'static str,
    pub(super) message: Option<String>,
    pub(super) question: Option<String>,
    pub(super) artifacts: Vec<(String, String)>,
    pub(super) answers: Vec<(String, String)>,
    pub(super) cancelled: u32,
}

/// How the peer is, at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mood {
    #[default]
    Well,
    /// Nothing gets through.
    Down,
    Locked,
    /// It says when to come back.
    Busy,
    /// What arrives is carried out, and the answer never comes.
    Swallows,
    /// What arrives is carried out, and the connection breaks before the answer.
    Breaks,
    /// What is sent is lost on its way, and nobody can tell.
    Drops,
}

/// What its stream is like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stream {
    #[default]
    Well,
    /// Nothing in it can be understood.
    Unreadable,
    /// It breaks after its first words.
    Cut,
    /// There is none: whoever asks for it hears that there is no such task, as servers say it that have nothing to stream just now.
    Missing,
    /// It says so after its first words.
    Forgets,
    /// Behind how the task stands it tells in which states it was.
    Replays(&'static [&'static str]),
    /// Behind how the task stands it tells of so many versions of one thing that it makes.
    Rewrites(usize),
}

#[derive(Default)]
pub(super) struct State {
    pub(super) tasks: Vec<Task>,
    pub(super) mood: Mood,
    pub(super) keeps_keys: bool,
    pub(super) lists: bool,
    /// What it got is not in its list yet when that is looked at for the first time.
    pub(super) lists_late: bool,
    /// Its list cannot tell what it got, whatever it keeps.
    pub(super) lists_nothing: bool,
    pub(super) polled: bool,
    pub(super) stream: Stream,
    /// How often it was looked at and followed.
    pub(super) looks: usize,
    pub(super) follows: usize,
    /// What looks show, one after the other, again and again; where it is empty, the task.
    pub(super) shows: &'static [&'static str],
    /// An answer does not change how its task stands.
    pub(super) slow: bool,
    /// What it says to an answer instead of showing its task.
    pub(super) says: Option<String>,
    /// Its card asks for something that nobody here knows.
    pub(super) strange: bool,
    /// It does not stop, and cannot be reached once it has said so.
    pub(super) stubborn: bool,
    /// It does not stop, whoever asks.
    pub(super) firm: bool,
    /// Every message that gave it something, and what it said, however often it came.
    pub(super) told: Vec<(String, String)>,
    /// How often a message was carried out.
    pub(super) begun: Vec<String>,
    pub(super) replies: Option<String>,
    /// What a reply holds besides: each with its media type.
    pub(super) holds: Vec<(&'static str, String)>,
    /// What its card says that it can do.
    pub(super) capabilities: Vec<String>,
}

/// Where its card is.
pub(super) const CARD: &str = "https://north.example/.well-known/agent-card.json";

/// A handle; clones are the same peer.
#[derive(Clone)]
pub(super) struct Fake {
    pub(super) state: Arc<Mutex<State>>,
    version: watch::Sender<u64>,
}

impl Fake {
    pub(super) fn new(change: impl FnOnce(&mut State)) -> Self {
        let mut state = State::default();
        change(&mut state);
        Self { state: Arc::new(Mutex::new(state)), version: watch::channel(0).0 }
    }

    /// Changes the peer, and tells whoever listens.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state.lock());
        self.version.send_modify(|version| *version += 1);
        changed
    }

    /// Changes its first task.
    pub(super) fn task(&self, change: impl FnOnce(&mut Task)) {
        self.change(|state| change(&mut state.tasks[0]));
    }

    /// Waits until something is so.
    pub(super) async fn until(&self, mut so: impl FnMut(&State) -> bool) {
        let mut version = self.version.subscribe();
        let wait = async {
            while !so(&self.state.lock()) {
                version.changed().await.unwrap();
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(20), wait).await.expect("the peer never got there");
    }

    fn reachable(&self) -> Result<(), Trouble> {
        match self.state.lock().mood {
            Mood::Down => Err(Trouble::Network { problem: "cut off".to_owned(), may_have_arrived: false }),
            Mood::Busy => {
                let (problem, after) = ("later".to_owned(), std::time::Duration::from_millis(1));
                Err(Trouble::Busy { problem, may_have_arrived: false, after })
            }
            Mood::Locked => Err(Trouble::Auth { problem: "who are you?".to_owned() }),
            Mood::Well | Mood::Swallows | Mood::Breaks | Mood::Drops => Ok(()),
        }?;
        match self.state.lock().strange {
            true => Err(Trouble::Refused { problem: "an extension that is not known here".to_owned() }),
            false => Ok(()),
        }
    }

    fn arrives(&self) -> Result<(), Trouble> {
        let lost = Trouble::Network { problem: "reset".to_owned(), may_have_arrived: true };
        if self.state.lock().mood == Mood::Drops { Err(lost) } else { Ok(()) }
    }

    /// Never returns where answers get lost.
    async fn on_its_way(&self) -> Result<(), Trouble> {
        let mood = self.state.lock().mood;
        match mood {
            Mood::Swallows => std::future::pending().await,
            Mood::Breaks => Err(Trouble::Network { problem: "reset".to_owned(), may_have_arrived: true }),
            Mood::Well | Mood::Busy | Mood::Down | Mood::Locked | Mood::Drops => Ok(()),
        }
    }

    fn held(&self) -> Vec<ViewedArtifact> {
        let held = |(at, (media_type, text)): (usize, &(&str, String))| ViewedArtifact {
            remote_id: format!("message:m/{at}"),
            name: None,
            content: ArtifactContent::Bytes { media_type: (*media_type).to_owned(), bytes: text.clone().into() },
        };
        self.state.lock().holds.iter().enumerate().map(held).collect()
    }

    /// Its task as it is in a state.
    fn view_in(&self, task_id: &str, state: &'static str) -> Result<PeerView, Trouble> {
        let task = self.state.lock().tasks.iter().find(|task| task.id == task_id).cloned().unwrap();
        Ok(view(&Task { state, ..task }, false))
    }

    fn view(&self, task_id: &str) -> Result<PeerView, Trouble> {
        let state = self.state.lock();
        let task = state.tasks.iter().find(|task| task.id == task_id);
        let polled = state.polled;
        task.map(|task| view(task, polled)).ok_or_else(|| Trouble::Missing { problem: "no such task".to_owned() })
    }
}

fn view(task: &Task, polled: bool) -> PeerView {
    let (status, recovery) = match task.state {
        "submitted" => (TaskStatus::Queued, PeerRecovery::Idle),
        "working" => (TaskStatus::Running, PeerRecovery::Running),
        "input-required" => (TaskStatus::WaitingInput, PeerRecovery::WaitingInput),
        "auth-required" => (TaskStatus::WaitingPermission, PeerRecovery::WaitingAuthorization),
        "completed" => (TaskStatus::Completed, PeerRecovery::CompletedUnreconciled),
        "failed" => (TaskStatus::Failed, PeerRecovery::CompletedUnreconciled),
        "canceled" => (TaskStatus::Cancelled, PeerRecovery::CompletedUnreconciled),
        "rejected" => (TaskStatus::Failed, PeerRecovery::CompletedUnreconciled),
        "pondering" => (TaskStatus::Unknown, PeerRecovery::Unknown),
        other => panic!("{other}"),
    };
    let artifact = |(name, text): &(String, String)| ViewedArtifact {
        remote_id: format!("a-{name}"),
        name: Some(name.clone()),
        content: ArtifactContent::Bytes { media_type: "text/plain".to_owned(), bytes: text.clone().into() },
    };
    PeerView {
        remote: Remote { task_id: task.id.clone(), context_id: Some("ctx".to_owned()) },
        status,
        native_status: task.state.to_owned(),
        recovery,
        delivery: if polled { DeliveryMechanism::Polling } else { DeliveryMechanism::Subscription },
        card: None,
        message: task.message.clone(),
        question: task.question.clone(),
        terms: Terms::default(),
        artifacts: task.artifacts.iter().map(artifact).collect(),
        whole: true,
        rejected: task.state == "rejected",
    }
}

#[async_trait]
impl Delegate for Fake {
    fn peers(&self) -> Vec<String> {
        vec!["north".to_owned()]
    }

    fn described(&self, _peer: &str) -> Option<Described> {
        let capabilities = self.state.lock().capabilities.clone();
        Some(Described { transport: Transport::Grpc, card: Some(CARD.to_owned()), capabilities })
    }

    async fn give(&self, _peer: &str, errand: &Errand) -> Result<Given, Trouble> {
        self.reachable()?;
        self.arrives()?;
        self.change(|state| state.told.push((errand.message_id.clone(), errand.text.clone())));
        let replies = self.state.lock().replies.clone();
        if let Some(text) = replies {
            return Ok(Given::Reply { text, artifacts: self.held() });
        }
        let known = self.state.lock().tasks.iter().find(|task| task.message_id == errand.message_id).cloned();
        let keeps_keys = self.state.lock().keeps_keys;
        if let Some(task) = known.filter(|_| keeps_keys) {
            return self.view(&task.id).map(|view| Given::Task(Box::new(view)));
        }
        let id = self.change(|state| {
            let id = format!("remote-{}", state.tasks.len() + 1);
            let task = Task {
                id: id.clone(),
                message_id: errand.message_id.clone(),
                text: errand.text.clone(),
                state: "working",
                ..Task::default()
            };
            state.tasks.push(task);
            state.begun.push(errand.message_id.clone());
            id
        });
        self.on_its_way().await?;
        self.view(&id).map(|view| Given::Task(Box::new(view)))
    }

    async fn find(&self, _peer: &str, errand: &Errand) -> Result<Found, Trouble> {
        self.reachable()?;
        let mut state = self.state.lock();
        // Whoever keeps keys here lists its tasks, too.
        let lists = (state.lists || state.keeps_keys) && !state.lists_nothing;
        let is_late = std::mem::take(&mut state.lists_late);
        let found = state.tasks.iter().find(|task| lists && !is_late && task.message_id == errand.message_id);
        Ok(match found {
            // Lists leave out what tasks made.
            Some(task) => {
                let view = view(task, state.polled);
                Found::Task(Box::new(PeerView { artifacts: Vec::new(), whole: false, ..view }))
            }
            None if lists => Found::Absent { problem: "the peer knows no such task".to_owned() },
            None => Found::Unknown { problem: "whether the peer has it cannot be found out".to_owned() },
        })
    }

    async fn keeps_keys(&self, _peer: &str) -> Result<bool, Trouble> {
        self.reachable()?;
        Ok(self.state.lock().keeps_keys)
    }

    async fn answer(&self, _peer: &str, remote: &Remote, answer: &Answer) -> Result<Given, Trouble> {
        self.reachable()?;
        self.change(|state| {
            let task = state.tasks.iter_mut().find(|task| task.id == remote.task_id).unwrap();
            task.answers.push((answer.message_id.clone(), answer.text.clone()));
            if !state.slow {
                task.state = "working";
            }
        });
        self.on_its_way().await?;
        if let Some(says) = self.state.lock().says.clone() {
            return Ok(Given::Reply { text: says, artifacts: Vec::new() });
        }
        self.view(&remote.task_id).map(|view| Given::Task(Box::new(view)))
    }

    async fn look(&self, _peer: &str, remote: &Remote) -> Result<PeerView, Trouble> {
        self.reachable()?;
        let shown = self.change(|state| {
            state.looks += 1;
            state.shows.get((state.looks - 1) % state.shows.len().max(1)).copied()
        });
        match shown {
            Some(shown) => self.view_in(&remote.task_id, shown),
            None => self.view(&remote.task_id),
        }
    }

    async fn cancel(&self, _peer: &str, remote: &Remote) -> Result<PeerView, Trouble> {
        self.reachable()?;
        if self.state.lock().stubborn {
            self.change(|state| (state.mood, state.stubborn) = (Mood::Down, false));
            return Err(Trouble::Refused { problem: "it cannot be cancelled".to_owned() });
        }
        if self.state.lock().firm || self.view(&remote.task_id)?.recovery == PeerRecovery::CompletedUnreconciled {
            return Err(Trouble::Refused { problem: "it is not stopped".to_owned() });
        }
        self.change(|state| {
            let task = state.tasks.iter_mut().find(|task| task.id == remote.task_id).unwrap();
            task.cancelled += 1;
            task.state = "canceled";
        });
        self.view(&remote.task_id)
    }

    async fn follow(
        &self,
        _peer: &str,
        remote: &Remote,
        _after: Option<&str>,
    ) -> Result<Option<Box<dyn Follow>>, Trouble> {
        self.reachable()?;
        if self.state.lock().polled {
            return Ok(None);
        }
        if self.change(|state| (state.follows += 1, state.stream).1) == Stream::Missing {
            return Err(Trouble::Missing { problem: "no such task".to_owned() });
        }
        let version = self.version.subscribe();
        Ok(Some(Box::new(Following { fake: self.clone(), version, remote: remote.clone(), told: 0 })))
    }
}

struct Following {
    fake: Fake,
    version: watch::Receiver<u64>,
    remote: Remote,
    /// How much it has said.
    told: usize,
}

#[async_trait]
impl Follow for Following {
    async fn next(&mut self) -> Result<Option<PeerView>, Trouble> {
        let stream = self.fake.state.lock().stream;
        self.told += 1;
        match (stream, self.told) {
            (Stream::Unreadable, _) => {
                return Err(Trouble::Malformed { problem: "too large".to_owned(), may_have_arrived: true });
            }
            (Stream::Cut, 2..) => {
                return Err(Trouble::Network { problem: "reset".to_owned(), may_have_arrived: true });
            }
            (Stream::Forgets, 2..) => return Err(Trouble::Missing { problem: "no such task".to_owned() }),
            (Stream::Replays(was), told) if (2..was.len() + 2).contains(&told) => {
                let view = self.fake.view_in(&self.remote.task_id, was[told - 2])?;
                return Ok(Some(PeerView { whole: false, ..view }));
            }
            (Stream::Rewrites(versions), told) if (2..versions + 2).contains(&told) => {
                let view = self.fake.view_in(&self.remote.task_id, "working")?;
                let text = format!("version {told}");
                let content = ArtifactContent::Bytes { media_type: "text/plain".to_owned(), bytes: text.into() };
                let made = ViewedArtifact { remote_id: "a-log".to_owned(), name: Some("log".to_owned()), content };
                return Ok(Some(PeerView { artifacts: vec![made], whole: false, ..view }));
            }
            (_, 1) => {}
            _ => self.version.changed().await.unwrap(),
        }
        self.fake.reachable()?;
        self.fake.view(&self.remote.task_id).map(Some)
    }

    fn position(&self) -> Option<String> {
        None
    }
}
