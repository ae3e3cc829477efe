//! `factum tail SESSION`: the events of a session as they happen.

use anyhow::Result;
use clap::Args;
use jiff::tz::TimeZone;

use crate::cli::App;
use crate::client::{Client, Follow, Followed, Remote};
use crate::config::{LogFormat, LogLevel};
use crate::failure::Exit;
use crate::logging;
use crate::render::Renderer;

#[derive(Debug, Args)]
pub(crate) struct Tail {
    /// The session.
    #[arg(value_name = "SESSION")]
    session: String,
    /// Start behind this sequence; 0 is the beginning.
    #[arg(long, default_value = "0", value_name = "N")]
    after: u64,
    /// Print what is there and end.
    #[arg(long)]
    no_follow: bool,
    #[command(flatten)]
    remote: Remote,
}

pub(crate) async fn run(tail: Tail, app: &App) -> Result<Exit> {
    logging::init(LogFormat::Text, LogLevel::Warn.louder(i32::from(app.global.verbose) - i32::from(app.global.quiet)));
    check_session(&tail.session)?;
    let mut follow = Follow::new(Client::new(&tail.remote)?, &tail.session, tail.after);
    let mut printer = Printer { app, renderer: (!app.output.is_json()).then(|| Renderer::new(TimeZone::system())) };
    if tail.no_follow {
        loop {
            let page = follow.page().await?;
            page.events.iter().try_for_each(|event| printer.print(event))?;
            if !page.has_more {
                break;
            }
        }
    } else {
        tokio::select! {
            outcome = async { loop { printer.print(&follow.next().await?)?; } } => return outcome,
            _ = tokio::signal::ctrl_c() => {}
        }
    }
    printer.finish()?;
    Ok(Exit::Ok)
}

/// The id becomes part of an address, so it has to look like one.
fn check_session(session: &str) -> Result<()> {
    match session.parse::<factum_model::id::SessionId>() {
        Ok(_) => Ok(()),
        Err(error) => Err(crate::failure::Problem::cannot_run(format!("{session:?} is not a session id"))
            .because(error.to_string())
            .advice("factum call list_sessions")
            .into()),
    }
}

struct Printer<'a> {
    app: &'a App,
    /// Absent where events are printed as they are.
    renderer: Option<Renderer>,
}

impl Printer<'_> {
    fn print(&mut self, event: &Followed) -> Result<()> {
        match &mut self.renderer {
            None => self.app.output.json_text(&event.json)?,
            Some(renderer) => self.app.output.text(renderer.event(&serde_json::from_str(&event.json)?))?,
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        if let Some(renderer) = &mut self.renderer {
            self.app.output.text(renderer.finish())?;
        }
        Ok(())
    }
}
