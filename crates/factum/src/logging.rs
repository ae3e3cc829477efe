//! The log: tracing to stderr, as text or as JSON.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, LogLevel};

/// Sets the log up for the whole process. A second call changes nothing.
pub(crate) fn init(format: LogFormat, level: LogLevel) {
    // The libraries below speak only when something is wrong with them.
    let ours =
        format!("warn,factum={0},factum_api={0},factum_runtime={0},factum_agent={0},factum_store={0}", level.as_str());
    let filter = EnvFilter::new(if level == LogLevel::Trace { "trace" } else { &ours });
    // Where stderr cannot be written, there is nobody to tell: saying so there would end whatever was about to log.
    let builder =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).log_internal_errors(false);
    let _ = match format {
        LogFormat::Text => builder.with_ansi(wants_color()).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).with_current_span(true).try_init(),
    };
}

fn wants_color() -> bool {
    let choice = anstream::AutoStream::choice(&std::io::stderr());
    choice != anstream::ColorChoice::Never && std::io::stderr().is_terminal()
}
