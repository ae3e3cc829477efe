//! A channel in the plainest code: lists and maps, no events. What the aggregate is compared with, so nothing of it is
//! used here.

use std::collections::BTreeMap;

/// What a move came to: a code, or nothing to complain about.
pub(super) type Outcome = Result<(), &'static str>;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reference {
    pub exists: bool,
    pub public: bool,
    pub direct: bool,
    pub version: u64,
    pub name: Option<String>,
    pub metadata: BTreeMap<String, u8>,
    /// Role and the last message read.
    pub members: BTreeMap<String, (&'static str, u64)>,
    /// Author and text.
    pub messages: Vec<(String, String)>,
    pub keys: BTreeMap<(String, u8), usize>,
    pub members_max: usize,
}

impl Reference {
    fn see(&self, who: &str) -> Outcome {
        let visible = self.exists && (self.public || self.members.contains_key(who));
        if visible { Ok(()) } else { Err("not_found") }
    }

    fn take_part(&self, who: &str) -> Outcome {
        self.see(who)?;
        if self.members.contains_key(who) { Ok(()) } else { Err("permission_denied") }
    }

    fn manage(&self, who: &str) -> Outcome {
        self.see(who)?;
        let owner = self.members.get(who).is_some_and(|(role, _)| *role == "owner");
        if owner && !self.direct { Ok(()) } else { Err("permission_denied") }
    }

    fn owners(&self) -> usize {
        self.members.values().filter(|(role, _)| *role == "owner").count()
    }

    pub(super) fn add(&mut self, caller: &str, who: &str, role: &'static str) -> Outcome {
        self.manage(caller)?;
        let full = self.members.len() == self.members_max;
        let owners = self.owners();
        match self.members.get_mut(who) {
            Some((now, _)) if *now == role => return Ok(()),
            Some(("owner", _)) if owners == 1 => return Err("conflict"),
            Some((now, _)) => *now = role,
            None if full => return Err("limit_exceeded"),
            None => drop(self.members.insert(who.to_owned(), (role, 0))),
        }
        self.version += 1;
        Ok(())
    }

    pub(super) fn remove(&mut self, caller: &str, who: &str) -> Outcome {
        self.manage(caller)?;
        match self.members.get(who) {
            None => return Err("invalid_params"),
            Some(("owner", _)) if self.owners() == 1 => return Err("conflict"),
            Some(_) => drop(self.members.remove(who)),
        }
        self.version += 1;
        Ok(())
    }

    pub(super) fn update(
        &mut self,
        caller: &str,
        expected: u64,
        name: Option<&str>,
        set: Option<(&str, u8)>,
        remove: Option<&str>,
    ) -> Outcome {
        self.manage(caller)?;
        if expected != self.version {
            return Err("conflict");
        }
        if set.is_some_and(|(key, _)| Some(key) == remove) {
            return Err("invalid_params");
        }
        let before = (self.name.clone(), self.metadata.clone());
        if let Some(name) = name {
            self.name = Some(name.to_owned());
        }
        if let Some(key) = remove {
            self.metadata.remove(key);
        }
        if let Some((key, value)) = set {
            self.metadata.insert(key.to_owned(), value);
        }
        if before != (self.name.clone(), self.metadata.clone()) {
            self.version += 1;
        }
        Ok(())
    }

    pub(super) fn delete(&mut self, caller: &str) -> Outcome {
        self.manage(caller)?;
        self.exists = false;
        self.members.clear();
        self.version += 1;
        Ok(())
    }

    /// The number of the message that is the answer.
    pub(super) fn publish(&mut self, caller: &str, text: &str, key: Option<u8>) -> Result<usize, &'static str> {
        self.take_part(caller)?;
        let owned_key = key.map(|key| (caller.to_owned(), key));
        if let Some(known) = owned_key.as_ref().and_then(|key| self.keys.get(key)) {
            let same = self.messages[known - 1].1 == text;
            return if same { Ok(*known) } else { Err("conflict") };
        }
        let last = self.messages.len() as u64;
        if let Some((_, read)) = self.members.get_mut(caller).filter(|(_, read)| *read == last) {
            *read = last + 1;
        }
        self.messages.push((caller.to_owned(), text.to_owned()));
        if let Some(key) = owned_key {
            self.keys.insert(key, self.messages.len());
        }
        Ok(self.messages.len())
    }

    pub(super) fn mark(&mut self, caller: &str, sequence: u64) -> Outcome {
        self.take_part(caller)?;
        let last = self.messages.len() as u64;
        if let Some((_, read)) = self.members.get_mut(caller) {
            *read = (*read).max(sequence.min(last));
        }
        Ok(())
    }
}
