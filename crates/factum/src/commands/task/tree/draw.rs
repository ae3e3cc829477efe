//! A forest as lines: branch, sign and name, then columns for where it stands, how far it is and its id.
//!
//! On a narrow terminal the ids go first, then how far it is; names are cut before a line would break.

use unicode_width::UnicodeWidthStr;

use super::forest::{Forest, Hidden, Node};
use crate::commands::look::{Look, Stands};
use crate::commands::task::describe::{how_far, title};
use crate::glyphs::Glyphs;
use crate::output::{DIM, YELLOW};
use crate::table::{fit, pad};
use crate::words::word;

/// Names take so much room at least, before something else is left out for them.
const NAME_WIDTH_MIN: usize = 24;
/// And at most, so that the columns behind them stay in sight.
const NAME_WIDTH_MAX: usize = 72;
/// How far it is takes so much room at most.
const NOTE_WIDTH_MAX: usize = 40;
/// Blockers that are named; the rest is counted.
const BLOCKERS_MAX: usize = 3;
const GAP: &str = "  ";

/// The forest as lines of at most so many columns.
pub(super) fn draw(forest: &Forest, glyphs: Glyphs, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut pen = Pen { glyphs, lines: &mut lines };
    for node in &forest.tops {
        pen.node(node, "", "");
    }
    pen.hidden(&forest.hidden, "");
    let columns = Columns::new(&lines, width);
    lines.iter().map(|line| columns.set(line, glyphs)).collect()
}

/// A line before its columns are known.
enum Line {
    Task { branch: String, look: Look, name: String, status: String, note: String, id: String },
    Aside { branch: String, text: String, blocked: bool },
}

struct Pen<'a> {
    glyphs: Glyphs,
    lines: &'a mut Vec<Line>,
}

impl Pen<'_> {
    /// `first` is drawn before the task, `rest` before everything below it.
    fn node(&mut self, node: &Node, first: &str, rest: &str) {
        let (task, last) = (&node.task, node.children.len().saturating_sub(1));
        self.lines.push(Line::Task {
            branch: first.to_owned(),
            look: task.status.look(),
            name: title(task),
            status: word(task.status),
            note: if task.status.is_terminal() { String::new() } else { how_far(task.progress.as_ref()) },
            id: task.task_id.to_string(),
        });
        let more = node.hidden.total() > 0;
        self.blocked(
            node,
            &format!("{rest}{}", if node.children.is_empty() && !more { "   " } else { self.glyphs.trunk() }),
        );
        for (number, child) in node.children.iter().enumerate() {
            let (fork, below) = match number == last && !more {
                true => (self.glyphs.last(), "   "),
                false => (self.glyphs.fork(), self.glyphs.trunk()),
            };
            self.node(child, &format!("{rest}{fork}"), &format!("{rest}{below}"));
        }
        self.hidden(&node.hidden, &format!("{rest}{}", self.glyphs.last()));
    }

    fn blocked(&mut self, node: &Node, branch: &str) {
        if node.blocked_by.is_empty() {
            return;
        }
        let names: Vec<&str> = node.blocked_by.iter().take(BLOCKERS_MAX).map(String::as_str).collect();
        let more = match node.blocked_by.len().saturating_sub(BLOCKERS_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let text = format!("{} blocked by {}{more}", self.glyphs.arrow_left(), names.join(", "));
        self.lines.push(Line::Aside { branch: branch.to_owned(), text, blocked: true });
    }

    fn hidden(&mut self, hidden: &Hidden, branch: &str) {
        if hidden.total() > 0 {
            let kinds: Vec<String> =
                hidden.0.iter().map(|(status, number)| format!("{number} {}", word(status))).collect();
            let text = format!("{} and {} more ({})", self.glyphs.ellipsis(), hidden.total(), kinds.join(", "));
            self.lines.push(Line::Aside { branch: branch.to_owned(), text, blocked: false });
        }
    }
}

/// How wide each column is; 0 is one that is left out.
struct Columns {
    all: usize,
    name: usize,
    status: usize,
    note: usize,
    ids: bool,
}

impl Columns {
    fn new(lines: &[Line], all: usize) -> Self {
        let (mut name, mut status, mut note, mut id) = (0, 0, 0, 0);
        for line in lines {
            if let Line::Task { branch, name: text, status: word, note: how_far, id: own, .. } = line {
                name = name.max(branch.width() + 2 + text.width()).min(NAME_WIDTH_MAX);
                status = status.max(word.width());
                note = note.max(how_far.width()).min(NOTE_WIDTH_MAX);
                id = id.max(own.width());
            }
        }
        let gap = |width: usize| if width > 0 { width + GAP.len() } else { 0 };
        let least = name.min(NAME_WIDTH_MIN);
        let ids = least + gap(status) + gap(note) + gap(id) <= all;
        let behind = gap(status) + if ids { gap(id) } else { 0 };
        let note = note.min(all.saturating_sub(behind + least + GAP.len()));
        let name = name.min(all.saturating_sub(behind + gap(note)));
        Self { all, name, status, note, ids }
    }

    fn set(&self, line: &Line, glyphs: Glyphs) -> String {
        match line {
            Line::Task { branch, look, name, status, note, id } => {
                let room = self.name.saturating_sub(branch.width() + 2);
                let name = pad(&fit(name, room, glyphs), room);
                let (status, note) = (pad(status, self.status), pad(&fit(note, self.note, glyphs), self.note));
                let mut text = format!("{DIM}{branch}{DIM:#}{} {name}{GAP}{}", look.sign(glyphs), look.paint(&status));
                if self.note > 0 {
                    text = format!("{text}{GAP}{note}");
                }
                if self.ids {
                    text = format!("{text}{GAP}{DIM}{id}{DIM:#}");
                }
                text.trim_end().to_owned()
            }
            Line::Aside { branch, text, blocked } => {
                let (text, style) =
                    (fit(text, self.all.saturating_sub(branch.width()), glyphs), if *blocked { YELLOW } else { DIM });
                format!("{DIM}{branch}{DIM:#}{style}{text}{style:#}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::commands::task::describe::tests::task_with;
    use crate::commands::task::tree::fetch::Graph;
    use crate::commands::task::tree::forest::Bounds;

    const WIDE: Bounds = Bounds { depth: 10, width: 10, lines: 100 };

    fn task(id: u32, parent: u32, status: &str, more: Value) -> factum_model::task::TaskRecord {
        let mut fields = json!({ "title": format!("Task {id}") });
        if parent > 0 {
            fields["parent_task_id"] = json!(format!("task_{parent}"));
        }
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        task_with(&format!("task_{id}"), status, fields)
    }

    fn graph() -> Graph {
        let tasks = vec![
            task(1, 0, "running", json!({ "progress": { "percent": 40, "current_step": "putting it together" } })),
            task(2, 1, "running", json!({ "progress": { "percent": 7 } })),
            task(3, 2, "completed", json!({})),
            task(4, 1, "blocked", json!({})),
            task(5, 4, "queued", json!({})),
        ];
        Graph { tasks, complete: true }
    }

    fn drawn(graph: Graph, bounds: &Bounds, glyphs: Glyphs, width: usize) -> String {
        let id = |id: &str| id.parse::<factum_model::id::TaskId>().unwrap();
        let blockers = [(id("task_4"), [id("task_2")].into())].into();
        let lines = draw(&Forest::new(graph, blockers, bounds), glyphs, width);
        anstream::adapter::strip_str(&format!("\n{}", lines.join("\n"))).to_string()
    }

    #[test]
    fn a_graph_is_drawn_with_what_holds_it_up() {
        let expected = "
● Task 1           running    40% putting it together  task_1
├─ ● Task 2        running    7%                       task_2
│  └─ ✓ Task 3     completed                           task_3
└─ ◇ Task 4        blocked                             task_4
   │  ⟵ blocked by Task 2
   └─ ○ Task 5     queued                              task_5";
        let drawn = drawn(graph(), &WIDE, Glyphs::Unicode, usize::MAX);
        assert_eq!(drawn.replace("   ", ""), expected.replace("   ", ""), "{drawn}");
    }

    #[test]
    fn columns_stand_below_each_other() {
        let drawn = drawn(graph(), &WIDE, Glyphs::Ascii, usize::MAX);
        let expected = "
* Task 1        running    40% putting it together  task_1
|- * Task 2     running    7%                       task_2
|  `- + Task 3  completed                           task_3
`- # Task 4     blocked                             task_4
   |  <- blocked by Task 2
   `- o Task 5  queued                              task_5";
        assert_eq!(drawn, expected);
    }

    #[test]
    fn a_narrow_terminal_loses_ids_then_notes_and_never_breaks_a_line() {
        for width in [20, 30, 40, 60, 80, 200] {
            let drawn = drawn(graph(), &WIDE, Glyphs::Unicode, width);
            let widest = drawn.lines().map(UnicodeWidthStr::width).max().unwrap();
            assert!(widest <= width, "{width}: {drawn}");
            assert_eq!(drawn.lines().count(), 7, "{drawn}");
            assert_eq!(drawn.contains("task_1"), width >= 60, "{width}: {drawn}");
        }
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let mut tasks = vec![task(1, 0, "running", json!({}))];
        tasks.extend((2..40).map(|id| task(id, 1, if id == 5 { "running" } else { "completed" }, json!({}))));
        tasks.push(task(50, 2, "failed", json!({})));
        let graph = Graph { tasks, complete: true };
        let drawn = drawn(graph, &Bounds { width: 3, ..WIDE }, Glyphs::Ascii, usize::MAX);
        let expected = "
* Task 1      running    task_1
|- * Task 5   running    task_5
|- + Task 38  completed  task_38
|- + Task 39  completed  task_39
`- ... and 36 more (1 failed, 35 completed)";
        assert_eq!(drawn, expected);
    }

    #[test]
    fn depth_and_lines_are_bounded() {
        let chain =
            || Graph { tasks: (1..=100).map(|id| task(id, id - 1, "queued", json!({}))).collect(), complete: true };
        let deep = drawn(chain(), &Bounds { depth: 2, ..WIDE }, Glyphs::Ascii, usize::MAX);
        assert_eq!(deep.lines().count(), 4, "{deep}");
        assert!(deep.ends_with("... and 98 more (98 queued)"), "{deep}");
        let few = drawn(chain(), &Bounds { depth: 200, lines: 5, ..WIDE }, Glyphs::Ascii, usize::MAX);
        assert!(few.ends_with("... and 95 more (95 queued)"), "{few}");
    }
}
