//! The few signs that are drawn, and what stands for them where the locale knows only ASCII.

use crate::terminal;

/// A sign in both alphabets. Both take one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sign {
    pub(crate) unicode: &'static str,
    pub(crate) ascii: &'static str,
}

/// Which alphabet is drawn in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Glyphs {
    Unicode,
    Ascii,
}

impl Glyphs {
    /// As the locale has it.
    pub(crate) fn of_locale() -> Self {
        if terminal::is_utf8() { Self::Unicode } else { Self::Ascii }
    }

    pub(crate) fn sign(self, sign: Sign) -> &'static str {
        self.pick(sign.unicode, sign.ascii)
    }

    /// Before a branch of a tree that others follow.
    pub(crate) fn fork(self) -> &'static str {
        self.pick("├─ ", "|- ")
    }

    /// Before the last branch.
    pub(crate) fn last(self) -> &'static str {
        self.pick("└─ ", "`- ")
    }

    /// Below a branch that others follow.
    pub(crate) fn trunk(self) -> &'static str {
        self.pick("│  ", "|  ")
    }

    pub(crate) fn arrow_left(self) -> &'static str {
        self.pick("⟵", "<-")
    }

    pub(crate) fn ellipsis(self) -> &'static str {
        self.pick("…", "...")
    }

    /// What a bar is made of: done, being done, to do.
    pub(crate) fn bar(self) -> &'static str {
        self.pick("━╸─", "#>-")
    }

    fn pick(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        match self {
            Self::Unicode => unicode,
            Self::Ascii => ascii,
        }
    }
}
