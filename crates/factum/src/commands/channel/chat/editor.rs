//! The line that is being typed. Pure: keys in, what to do out.

use unicode_width::UnicodeWidthChar;

use super::keys::Key;
use crate::render::is_obeyed;

/// Lines that can be called back with the arrow keys.
const SAID_MAX: usize = 200;
/// The longest line, in characters. The server's own bound on a message is above it.
const CHARS_MAX: usize = 60_000;

/// What a key leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Nothing,
    Submit(String),
    Clear,
    Quit,
}

/// The part of the line that fits, and where the cursor is in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct View {
    pub(super) text: String,
    pub(super) column: usize,
}

#[derive(Debug, Default)]
pub(super) struct Editor {
    text: Vec<char>,
    cursor: usize,
    said: Vec<String>,
    /// Which of the lines said before is shown, counted from the newest; 0 is the line itself.
    back: usize,
    /// The line itself, while another one is shown.
    draft: Vec<char>,
}

impl Editor {
    pub(super) fn press(&mut self, key: Key) -> Effect {
        match key {
            Key::Enter => return self.submit(),
            Key::Clear => return Effect::Clear,
            Key::Interrupt | Key::EndOfInput if self.text.is_empty() => return Effect::Quit,
            Key::Interrupt => self.show(Vec::new()),
            Key::Text(text) => self.insert(&text),
            Key::Backspace => self.kill(self.cursor.saturating_sub(1), self.cursor),
            Key::Delete | Key::EndOfInput => self.kill(self.cursor, self.cursor + 1),
            Key::KillToEnd => self.kill(self.cursor, self.text.len()),
            Key::KillToStart => self.kill(0, self.cursor),
            Key::KillWord => self.kill(self.word_left(), self.cursor),
            Key::Left => self.cursor = self.cursor.saturating_sub(1),
            Key::Right => self.cursor = self.text.len().min(self.cursor + 1),
            Key::WordLeft => self.cursor = self.word_left(),
            Key::WordRight => self.cursor = self.word_right(),
            Key::Home => self.cursor = 0,
            Key::End => self.cursor = self.text.len(),
            Key::Up => self.call(self.back + 1),
            Key::Down => self.call(self.back.saturating_sub(1)),
        }
        Effect::Nothing
    }

    /// The line again, unless another one is being typed.
    pub(super) fn give_back(&mut self, line: &str) {
        if self.text.is_empty() {
            self.show(line.chars().collect());
        }
    }

    /// What fits into so many columns, around the cursor.
    pub(super) fn view(&self, columns: usize) -> View {
        let (mut first, mut column) = (self.cursor, 0);
        // One column is the cursor's own.
        while first > 0 && column + width(self.text[first - 1]) < columns {
            first -= 1;
            column += width(self.text[first]);
        }
        let mut used = 0;
        let fits = |c: &&char| {
            used += width(**c);
            used <= columns
        };
        View { text: self.text[first..].iter().take_while(fits).map(|c| shown(*c)).collect(), column }
    }

    fn submit(&mut self) -> Effect {
        let line: String = self.text.iter().collect();
        self.show(Vec::new());
        if line.trim().is_empty() {
            return Effect::Nothing;
        }
        if self.said.last() != Some(&line) {
            self.said.push(line.clone());
        }
        if self.said.len() > SAID_MAX {
            self.said.remove(0);
        }
        Effect::Submit(line)
    }

    fn insert(&mut self, text: &str) {
        let room = CHARS_MAX.saturating_sub(self.text.len());
        let new: Vec<char> = text.chars().take(room).collect();
        let behind = self.cursor + new.len();
        self.text.splice(self.cursor..self.cursor, new);
        self.cursor = behind;
    }

    fn kill(&mut self, from: usize, to: usize) {
        self.text.drain(from..to.min(self.text.len()));
        self.cursor = from;
    }

    fn show(&mut self, text: Vec<char>) {
        (self.cursor, self.text, self.back) = (text.len(), text, 0);
    }

    /// Shows a line said before.
    fn call(&mut self, back: usize) {
        if back > self.said.len() || back == self.back {
            return;
        }
        if self.back == 0 {
            self.draft = self.text.clone();
        }
        let text = match back {
            0 => std::mem::take(&mut self.draft),
            back => self.said[self.said.len() - back].chars().collect(),
        };
        self.show(text);
        self.back = back;
    }

    fn word_left(&self) -> usize {
        let before = &self.text[..self.cursor];
        let word = before.iter().rposition(|c| !c.is_whitespace()).unwrap_or(0);
        before[..word].iter().rposition(|c| c.is_whitespace()).map_or(0, |space| space + 1)
    }

    fn word_right(&self) -> usize {
        let after = &self.text[self.cursor..];
        let word = after.iter().position(|c| !c.is_whitespace()).unwrap_or(after.len());
        let end = after[word..].iter().position(|c| c.is_whitespace());
        self.cursor + end.map_or(after.len(), |end| word + end)
    }
}

/// What stands for a character that would do something to the line.
fn shown(c: char) -> char {
    match c {
        '\n' => '⏎',
        '\t' => ' ',
        c if is_obeyed(c) => '\u{fffd}',
        c => c,
    }
}

fn width(c: char) -> usize {
    shown(c).width().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(editor: &mut Editor, text: &str) {
        assert_eq!(editor.press(Key::Text(text.to_owned())), Effect::Nothing);
    }

    /// The line after some keys, with a bar where the cursor is.
    fn check(text: &str, keys: &[Key], expected: &str) {
        let mut editor = Editor::default();
        typed(&mut editor, text);
        keys.iter().for_each(|key| assert_eq!(editor.press(key.clone()), Effect::Nothing));
        let mut line: Vec<char> = editor.text.clone();
        line.insert(editor.cursor, '|');
        assert_eq!(line.into_iter().collect::<String>(), expected, "{text} {keys:?}");
    }

    #[test]
    fn keys_change_the_line() {
        let insert = || Key::Text("X".to_owned());
        check("one two", &[], "one two|");
        check("one two", &[Key::Left, Key::Backspace, insert()], "one tX|o");
        check("one two", &[Key::Home, Key::Delete, Key::Left], "|ne two");
        check("one two", &[Key::WordLeft, insert()], "one X|two");
        check("one two  ", &[Key::KillWord], "one |");
        check("one two", &[Key::WordLeft, Key::WordLeft, Key::WordRight], "one| two");
        check("one two", &[Key::WordLeft, Key::KillToStart], "|two");
        check("one two", &[Key::WordLeft, Key::KillToEnd], "one |");
        check("one", &[Key::End, Key::Right, Key::Delete], "one|");
        check(
            "",
            &[Key::Backspace, Key::Delete, Key::KillWord, Key::WordLeft, Key::WordRight, Key::Up, Key::Down],
            "|",
        );
    }

    #[test]
    fn ctrl_c_empties_a_line_and_leaves_an_empty_one() {
        let mut editor = Editor::default();
        typed(&mut editor, "x");
        assert_eq!(editor.press(Key::Interrupt), Effect::Nothing);
        assert_eq!(editor.press(Key::Interrupt), Effect::Quit);
        assert_eq!(editor.press(Key::EndOfInput), Effect::Quit);
        assert_eq!(editor.press(Key::Enter), Effect::Nothing, "an empty line says nothing");
    }

    #[test]
    fn lines_can_be_called_back_and_what_was_begun_is_kept() {
        let mut editor = Editor::default();
        for line in ["first", "second"] {
            typed(&mut editor, line);
            assert_eq!(editor.press(Key::Enter), Effect::Submit(line.to_owned()));
        }
        typed(&mut editor, "begun");
        let mut after = |key| {
            editor.press(key);
            editor.text.iter().collect::<String>()
        };
        assert_eq!(after(Key::Up), "second");
        assert_eq!(after(Key::Up), "first");
        assert_eq!(after(Key::Up), "first");
        assert_eq!(after(Key::Down), "second");
        assert_eq!(after(Key::Down), "begun");
        editor.give_back("lost");
        assert_eq!(editor.text.iter().collect::<String>(), "begun");
    }

    #[test]
    fn a_long_line_is_seen_around_the_cursor() {
        let mut editor = Editor::default();
        typed(&mut editor, "0123456789");
        assert_eq!(editor.view(20), View { text: "0123456789".into(), column: 10 });
        assert_eq!(editor.view(5), View { text: "6789".into(), column: 4 });
        editor.press(Key::Home);
        assert_eq!(editor.view(5), View { text: "01234".into(), column: 0 });
        assert_eq!(editor.view(0), View { text: String::new(), column: 0 });
        let mut wide = Editor::default();
        typed(&mut wide, "日本\n\u{1b}");
        assert_eq!(wide.view(20), View { text: "日本⏎\u{fffd}".into(), column: 6 });
    }
}
