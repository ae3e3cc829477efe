//! A board as bars: one line for each thing that is being done, and one for all of it below.
//!
//! A bar stays on its line for as long as its key is on the board, so that the eye can follow it.

use std::io;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::{Board, Row};
use crate::glyphs::Glyphs;
use crate::output::Output;
use crate::table::pad;

/// How often what has no percentage shows that it is alive.
const TICK: Duration = Duration::from_millis(120);
/// Lines of bars at most, however high the terminal is.
const ROWS_MAX: usize = 16;
/// Lines of the terminal that are left to other things.
const ROWS_LEFT: usize = 6;
/// Names take so much room, whatever they are.
const NAME_WIDTH: usize = 28;

/// So many rows fit on a terminal of this height.
pub(super) fn rows_max(height: usize) -> usize {
    height.saturating_sub(ROWS_LEFT).clamp(1, ROWS_MAX)
}

pub(in crate::commands) struct Bars {
    all: MultiProgress,
    output: Output,
    styles: Styles,
    rows: Vec<(String, ProgressBar)>,
    more: ProgressBar,
    total: ProgressBar,
    glyphs: Glyphs,
}

struct Styles {
    known: ProgressStyle,
    unknown: ProgressStyle,
}

impl Bars {
    pub(super) fn new(all: MultiProgress, output: Output, glyphs: Glyphs) -> Self {
        let known = style("  {prefix} {bar:24.cyan/dim} {pos:>3}%  {wide_msg}", glyphs);
        let unknown = style("  {prefix} {spinner:.cyan} {wide_msg}", glyphs);
        let more = all.add(ProgressBar::new(0).with_style(style("  {wide_msg}", glyphs)));
        let total =
            ProgressBar::new(0).with_style(style("{bar:30.green/dim} {pos}/{len}  {elapsed}  {wide_msg}", glyphs));
        let total = all.add(total);
        total.enable_steady_tick(TICK);
        Self { all, output, styles: Styles { known, unknown }, rows: Vec::new(), more, total, glyphs }
    }

    /// A line above the bars, which stays.
    pub(super) fn above(&self, line: &str) -> io::Result<()> {
        self.all.suspend(|| self.output.line(line))
    }

    pub(super) fn show(&mut self, board: &Board) {
        self.rows.retain(|(key, bar)| {
            let stays = board.rows.iter().any(|row| row.key == *key);
            if !stays {
                bar.finish_and_clear();
                self.all.remove(bar);
            }
            stays
        });
        for row in &board.rows {
            let bar = match self.rows.iter().find(|(key, _)| *key == row.key) {
                Some((_, bar)) => bar.clone(),
                None => self.add(&row.key),
            };
            self.draw(&bar, row);
        }
        let more =
            if board.more > 0 { format!("{} and {} more", self.glyphs.ellipsis(), board.more) } else { String::new() };
        self.more.set_message(more);
        self.total.set_length(board.total.of);
        self.total.set_position(board.total.done);
        self.total.set_message(board.total.note.clone());
    }

    pub(super) fn finish(self) {
        // A failure to wipe is one of a terminal that is gone.
        let _ = self.all.clear();
    }

    fn add(&mut self, key: &str) -> ProgressBar {
        let bar = self.all.insert_before(&self.more, ProgressBar::new(100));
        self.rows.push((key.to_owned(), bar.clone()));
        bar
    }

    fn draw(&self, bar: &ProgressBar, row: &Row) {
        bar.set_prefix(name(&row.name, self.glyphs));
        bar.set_message(row.note.clone());
        match row.percent {
            Some(percent) => {
                bar.disable_steady_tick();
                bar.set_style(self.styles.known.clone());
                bar.set_position(percent.min(100).into());
            }
            None => {
                bar.set_style(self.styles.unknown.clone());
                bar.enable_steady_tick(TICK);
            }
        }
    }
}

fn style(template: &str, glyphs: Glyphs) -> ProgressStyle {
    let spinner = match glyphs {
        Glyphs::Unicode => "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ ",
        Glyphs::Ascii => "|/-\\ ",
    };
    // The templates are ours and a test reads them all; a default bar is better than none.
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars(glyphs.bar()).tick_chars(spinner)
}

/// The name in exactly the room that names have.
fn name(name: &str, glyphs: Glyphs) -> String {
    pad(&crate::table::fit(name, NAME_WIDTH, glyphs), NAME_WIDTH)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use indicatif::{ProgressDrawTarget, TermLike};
    use unicode_width::UnicodeWidthStr;

    use super::*;
    use crate::commands::live::Total;
    use crate::output::Color;

    const WIDTH: u16 = 90;

    /// A terminal that keeps its lines. Bars are drawn line by line, so nothing ever begins in the middle of one.
    #[derive(Clone, Debug, Default)]
    struct Paper(Arc<Mutex<(Vec<String>, usize)>>);

    impl Paper {
        fn on_line(&self, change: impl FnOnce(&mut String), down: usize) -> io::Result<()> {
            let (lines, at) = &mut *self.0.lock().unwrap();
            lines.resize(lines.len().max(*at + down + 1), String::new());
            change(&mut lines[*at]);
            *at += down;
            Ok(())
        }

        /// What stands on it. A line that is full goes on in the next one without a break.
        fn lines(&self) -> Vec<String> {
            let text = anstream::adapter::strip_str(&self.0.lock().unwrap().0.concat()).to_string();
            let lines =
                text.as_bytes().chunks(WIDTH.into()).map(|line| String::from_utf8_lossy(line).trim_end().to_owned());
            lines.filter(|line| !line.is_empty()).collect()
        }
    }

    impl TermLike for Paper {
        fn width(&self) -> u16 {
            WIDTH
        }
        fn move_cursor_up(&self, n: usize) -> io::Result<()> {
            let (_, at) = &mut *self.0.lock().unwrap();
            *at = at.saturating_sub(n);
            Ok(())
        }
        fn move_cursor_down(&self, n: usize) -> io::Result<()> {
            self.on_line(|_| {}, n)
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.on_line(|line| line.push_str(text), 1)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.on_line(|line| line.push_str(text), 0)
        }
        fn clear_line(&self) -> io::Result<()> {
            self.on_line(String::clear, 0)
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    fn row(key: &str, percent: Option<u8>) -> Row {
        Row { key: key.to_owned(), name: format!("task {key}"), percent, note: "a step".to_owned() }
    }

    fn board(rows: Vec<Row>, more: usize, done: u64) -> Board {
        Board { rows, more, total: Total { done, of: 4, note: "1 failed".to_owned() } }
    }

    #[test]
    fn bars_come_stay_in_place_and_go() {
        let paper = Paper::default();
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::term_like(Box::new(paper.clone())));
        let mut bars = Bars::new(all, Output::new(None, Color::Never, true), Glyphs::Ascii);
        bars.show(&board(vec![row("a", Some(50)), row("b", None)], 2, 1));
        bars.show(&board(vec![row("b", Some(10)), row("c", Some(75))], 0, 2));
        bars.total.force_draw();
        let lines = paper.lines();
        assert!(lines[0].starts_with("  task b ") && lines[0].ends_with("10%  a step"), "{lines:?}");
        assert!(lines[1].starts_with("  task c ") && lines[1].contains(" 75%"), "{lines:?}");
        assert!(lines[2].contains("2/4") && lines[2].ends_with("1 failed"), "{lines:?}");
        assert_eq!(lines.len(), 3, "{lines:?}");
        bars.finish();
        assert_eq!(paper.lines(), [""; 0]);
    }

    #[test]
    fn names_take_the_same_room_and_few_rows_are_better_than_none() {
        assert_eq!(name("日本", Glyphs::Unicode).width(), NAME_WIDTH);
        assert_eq!(name(&"x".repeat(100), Glyphs::Ascii).width(), NAME_WIDTH);
        assert_eq!((rows_max(3), rows_max(22), rows_max(500)), (1, 16, 16));
    }
}
