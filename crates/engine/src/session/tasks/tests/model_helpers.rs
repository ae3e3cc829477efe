//! The reference model of who works for a task beside its own runs: child agents and jobs.

use factum_model::task::Propagation;

use super::any_move::Helping;
use super::model::{Model, open};

#[derive(Clone, Debug)]
pub(super) struct Helper {
    pub name: String,
    pub kind: Helping,
    pub at_work: bool,
}

impl Model {
    /// A helper begins to work. Says whether it may.
    pub(super) fn help(&mut self, task: &str, name: &str, kind: Helping) -> bool {
        if !open(self.get(task).status) || self.cancelled_above(task) {
            return false;
        }
        self.task(task).helpers.push(Helper { name: name.to_owned(), kind, at_work: true });
        if kind == Helping::Agent {
            self.spawned.insert((task.to_owned(), name.to_owned()), false);
        }
        true
    }

    /// Its work is done. A job is over by that; a child agent rests, and stays as long as its task is open.
    pub(super) fn helper_ends(&mut self, task: &str, name: &str) {
        self.satisfy(task, name);
        let stays = open(self.get(task).status);
        let helpers = &mut self.task(task).helpers;
        helpers.retain_mut(|helper| {
            let other = helper.name != name;
            helper.at_work &= other;
            other || (stays && helper.kind == Helping::Agent)
        });
        self.settle(task);
    }

    pub(super) fn helper_again(&mut self, task: &str, name: &str) {
        let helpers = self.task(task).helpers.iter_mut();
        helpers.filter(|helper| helper.name == name).for_each(|helper| helper.at_work = true);
    }

    pub(super) fn helper_closes(&mut self, task: &str, name: &str) {
        self.satisfy(task, name);
        self.task(task).helpers.retain(|helper| helper.name != name);
        self.settle(task);
    }

    /// Whom an order to cancel reaches: helpers of the task, and of everything that it passes on to others.
    pub(super) fn helped_below(&self, task: &str, propagation: Propagation) -> Vec<(String, String)> {
        let mut tasks = vec![task.to_owned()];
        match propagation {
            Propagation::None => return Vec::new(),
            Propagation::Children => {}
            Propagation::Descendants => tasks.extend(self.below(task, propagation)),
        }
        let helpers = |task: &String| {
            let names = self.get(task).helpers.iter().map(|helper| helper.name.clone());
            names.map(|name| (task.clone(), name)).collect::<Vec<_>>()
        };
        tasks.iter().flat_map(helpers).collect()
    }

    fn satisfy(&mut self, task: &str, name: &str) {
        if let Some(satisfied) = self.spawned.get_mut(&(task.to_owned(), name.to_owned())) {
            *satisfied = true;
        }
    }
}
