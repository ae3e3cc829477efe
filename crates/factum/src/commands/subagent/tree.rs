//! A family as lines: branch, sign and name, then columns for where each stands, what it is there for, and its id.

use std::collections::{HashMap, HashSet};

use factum_model::id::SubagentId;
use factum_model::subagent::SubagentRecord;
use unicode_width::UnicodeWidthStr;

use super::describe::{name, note};
use crate::commands::look::Stands;
use crate::glyphs::Glyphs;
use crate::output::DIM;
use crate::table::pad;
use crate::words::word;

/// Parents above their children, oldest first. One whose parent is not among them is at the top.
pub(super) fn tree(subagents: &[SubagentRecord], glyphs: Glyphs) -> Vec<String> {
    let known: HashSet<&SubagentId> = subagents.iter().map(|one| &one.subagent_id).collect();
    let mut children: HashMap<Option<&SubagentId>, Vec<&SubagentRecord>> = HashMap::new();
    for one in subagents {
        let parent = one.parent_subagent_id.as_ref().filter(|parent| known.contains(parent));
        children.entry(parent).or_default().push(one);
    }
    let mut pen = Pen { glyphs, children, lines: Vec::new() };
    for one in pen.children.remove(&None).unwrap_or_default() {
        pen.draw(one, "", "");
    }
    pen.columns()
}

/// One child and what is drawn before it.
struct Line<'a> {
    branch: String,
    one: &'a SubagentRecord,
}

struct Pen<'a> {
    glyphs: Glyphs,
    children: HashMap<Option<&'a SubagentId>, Vec<&'a SubagentRecord>>,
    lines: Vec<Line<'a>>,
}

impl<'a> Pen<'a> {
    /// `first` is drawn before the child, `rest` before everything below it. How deep this goes is bounded by
    /// `subagent_depth_max` of the server.
    fn draw(&mut self, one: &'a SubagentRecord, first: &str, rest: &str) {
        self.lines.push(Line { branch: first.to_owned(), one });
        let mut below = self.children.remove(&Some(&one.subagent_id)).unwrap_or_default().into_iter().peekable();
        while let Some(child) = below.next() {
            let (fork, trunk) = match below.peek() {
                Some(_) => (self.glyphs.fork(), self.glyphs.trunk()),
                None => (self.glyphs.last(), "   "),
            };
            self.draw(child, &format!("{rest}{fork}"), &format!("{rest}{trunk}"));
        }
    }

    fn columns(&self) -> Vec<String> {
        let widest = |width: &dyn Fn(&Line<'_>) -> usize| self.lines.iter().map(width).max().unwrap_or(0);
        let names = widest(&|line| line.branch.width() + name(line.one).width());
        let statuses = widest(&|line| word(line.one.status).width());
        let notes = widest(&|line| note(line.one).width());
        let set = |Line { branch, one }: &Line<'_>| {
            let (look, name) = (one.status.look(), pad(&name(one), names - branch.width()));
            let status = look.paint(&pad(&word(one.status), statuses));
            let note = if notes > 0 { format!("{}  ", pad(&note(one), notes)) } else { String::new() };
            let (sign, id) = (look.sign(self.glyphs), &one.subagent_id);
            format!("{DIM}{branch}{DIM:#}{sign} {name}  {status}  {note}{DIM}{id}{DIM:#}")
        };
        self.lines.iter().map(set).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::describe::tests::subagent;
    use super::*;

    #[test]
    fn children_stand_below_their_parents_and_orphans_at_the_top() {
        let child = |id: &str, status: &str, name: &str, parent: Option<&str>| {
            subagent(id, status, &json!({ "nickname": name, "role": "reader", "parent_subagent_id": parent }))
        };
        let family = [
            child("sub_1", "running", "Ada", None),
            child("sub_2", "closed", "Bea", Some("sub_1")),
            child("sub_3", "waiting_input", "Carla", Some("sub_2")),
            child("sub_4", "idle", "Dora", Some("sub_1")),
            child("sub_5", "failed", "Eve", Some("sub_elsewhere")),
        ];
        let lines = tree(&family, Glyphs::Ascii);
        let expected = "\
* Ada          running        reader  sub_1
|- . Bea       closed         reader  sub_2
|  `- ~ Carla  waiting_input  reader  sub_3
`- o Dora      idle           reader  sub_4
x Eve          failed         reader  sub_5";
        assert_eq!(anstream::adapter::strip_str(&lines.join("\n")).to_string(), expected);
        assert!(tree(&[], Glyphs::Ascii).is_empty());
    }
}
