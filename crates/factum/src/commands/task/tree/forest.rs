//! The shape of a graph: who is below whom, cut to a size that somebody can read.
//!
//! What is cut is counted, by where it stands, so that nothing vanishes without a word. Open tasks are kept rather than
//! ended ones, since a tree is looked at to see what goes on.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use factum_model::id::TaskId;
use factum_model::task::{TaskRecord, TaskStatus};

use super::fetch::{Blockers, Graph};
use crate::commands::task::describe::title;

/// How much is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) depth: usize,
    pub(super) width: usize,
    pub(super) lines: usize,
}

/// What is shown, from the top down.
pub(super) struct Forest {
    pub(super) tops: Vec<Node>,
    pub(super) hidden: Hidden,
}

pub(super) struct Node {
    pub(super) task: TaskRecord,
    /// What holds it up, by name.
    pub(super) blocked_by: Vec<String>,
    pub(super) children: Vec<Node>,
    pub(super) hidden: Hidden,
}

/// What is left out below something, by where it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hidden(pub(super) BTreeMap<TaskStatus, usize>);

impl Hidden {
    pub(super) fn total(&self) -> usize {
        self.0.values().sum()
    }
}

impl Forest {
    pub(super) fn new(graph: Graph, blockers: Blockers, bounds: &Bounds) -> Self {
        let mut grower = Grower::new(graph, blockers, bounds);
        let (tops, hidden) = grower.grow(None, 0);
        Self { tops, hidden }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tops.is_empty() && self.hidden.total() == 0
    }
}

struct Grower {
    tasks: Vec<Option<TaskRecord>>,
    /// Places in `tasks`, by parent; those without one that is known are at the top.
    children: HashMap<Option<usize>, Vec<usize>>,
    statuses: Vec<TaskStatus>,
    names: HashMap<TaskId, String>,
    blockers: Blockers,
    depth: usize,
    width: usize,
    left: usize,
}

impl Grower {
    fn new(graph: Graph, blockers: Blockers, bounds: &Bounds) -> Self {
        let places: HashMap<&TaskId, usize> =
            graph.tasks.iter().enumerate().map(|(place, task)| (&task.task_id, place)).collect();
        let mut children: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
        for (place, task) in graph.tasks.iter().enumerate() {
            let parent = task.parent_task_id.as_ref().and_then(|parent| places.get(parent)).copied();
            children.entry(parent.filter(|parent| *parent != place)).or_default().push(place);
        }
        Self {
            children,
            statuses: graph.tasks.iter().map(|task| task.status).collect(),
            names: graph.tasks.iter().map(|task| (task.task_id.clone(), title(task))).collect(),
            tasks: graph.tasks.into_iter().map(Some).collect(),
            blockers,
            depth: bounds.depth,
            width: bounds.width,
            left: bounds.lines,
        }
    }

    /// What is below a place, and what of it is left out. Children are given their lines before anything below them, so
    /// that one large branch does not hide its neighbours.
    fn grow(&mut self, parent: Option<usize>, level: usize) -> (Vec<Node>, Hidden) {
        let places = self.children.get(&parent).cloned().unwrap_or_default();
        let room = if level < self.depth { self.width.min(self.left) } else { 0 };
        let kept = keep(&places, &self.statuses, room);
        let mut hidden = Hidden::default();
        places.iter().filter(|place| !kept.contains(place)).for_each(|place| self.count(*place, &mut hidden));
        self.left -= kept.len();
        let places = places.into_iter().filter(|place| kept.contains(place));
        let nodes = places.filter_map(|place| self.node(place, level)).collect();
        (nodes, hidden)
    }

    fn node(&mut self, place: usize, level: usize) -> Option<Node> {
        let task = self.tasks[place].take()?;
        let (children, hidden) = self.grow(Some(place), level + 1);
        let blockers = self.blockers.remove(&task.task_id).unwrap_or_default();
        let name = |id: TaskId| self.names.get(&id).cloned().unwrap_or_else(|| id.to_string());
        let blocked_by = blockers.into_iter().map(name).collect();
        Some(Node { task, blocked_by, children, hidden })
    }

    /// Everything from a place on down.
    fn count(&self, place: usize, hidden: &mut Hidden) {
        let mut places = vec![place];
        while let Some(place) = places.pop() {
            *hidden.0.entry(self.statuses[place]).or_default() += 1;
            places.extend(self.children.get(&Some(place)).into_iter().flatten());
        }
    }
}

/// Which of them stay where only so many may: open ones first, then the newest.
fn keep(places: &[usize], statuses: &[TaskStatus], room: usize) -> BTreeSet<usize> {
    let ended = |place: usize| statuses[place].is_terminal() || statuses[place] == TaskStatus::Archived;
    let (closed, open): (Vec<usize>, Vec<usize>) = places.iter().copied().partition(|place| ended(*place));
    open.into_iter().chain(closed.into_iter().rev()).take(room).collect()
}
