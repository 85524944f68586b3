//! The only file that prints.

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::ValueEnum;
use console::Term;
use scenario::report::ndjson_happened;
use scenario::spec::render::Style;
use scenario::untrusted;
use serde_json::Value as Json;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::ci_commands::{self, Form};
use crate::colors::painted;
use crate::exit_code::Exit;
use crate::json_text;
use crate::live_view::{self, LiveView};

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The reason why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// The command was used wrongly.
    #[error("{0}")]
    Usage(String),
    /// Something that the command needs is unavailable.
    #[error("{0}")]
    Infrastructure(String),
    /// A spec is not valid, as a server says.
    #[error("{0}")]
    InvalidSpec(String),
    /// The output could not be written.
    #[error("cannot write the output: {0}")]
    Write(io::Error),
    /// The machine did not give what every command needs.
    #[error("the machine refuses: {0}")]
    Machine(#[from] io::Error),
}

impl CommandError {
    /// Returns the error for a wrong use of the command, with this reason.
    pub(crate) fn usage(reason: impl Display) -> Self {
        Self::Usage(reason.to_string())
    }
}

/// Shows warnings of ours, such as something that could not be removed, and hides those of libraries. Messages of a
/// service are shown as well.
fn show_warnings() {
    let ours = ["engine", "server", "store", "worker"].map(|target| (target, LevelFilter::WARN));
    let ours = ours.into_iter().chain([("touchstone", LevelFilter::INFO)]);
    let lines = tracing_subscriber::fmt::layer().with_writer(|| Errors).with_target(false).with_ansi(false);
    let shown = lines.without_time().with_filter(Targets::new().with_targets(ours));
    let _ = tracing_subscriber::registry().with(shown).try_init();
}

/// Standard error, which is not written to while something is drawn there.
struct Errors;

impl io::Write for Errors {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !ci_commands::is_listening() {
            return live_view::beside(|| io::stderr().write(bytes));
        }
        let text = String::from_utf8_lossy(bytes);
        io::stderr().write_all(ci_commands::harmless(&text, Form::Text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Standard output and standard error.
#[derive(Debug)]
pub(crate) struct Output {
    stdout: anstream::AutoStream<io::Stdout>,
    style: Style,
    /// A CI system reads what is printed.
    is_read_by_ci: bool,
    /// A program reads what happens while it happens.
    streams: bool,
}

impl Output {
    /// Output with colours as asked for.
    pub(crate) fn new(colour: Colour) -> Self {
        let (style, choice) = if wants_colours(colour, io::stdout().is_terminal(), |name| env::var_os(name)) {
            (Style::Coloured, anstream::ColorChoice::Always)
        } else {
            (Style::Plain, anstream::ColorChoice::Never)
        };
        show_warnings();
        Self {
            stdout: anstream::AutoStream::new(io::stdout(), choice),
            style,
            is_read_by_ci: ci_commands::is_listening(),
            streams: false,
        }
    }

    /// Returns the style of findings.
    pub(crate) fn style(&self) -> Style {
        self.style
    }

    /// Prints a text and a line break.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) -> Result<(), CommandError> {
        self.document(text.as_ref(), Form::Text)
    }

    /// Prints a value as JSON, and a line break.
    pub(crate) fn json(&mut self, value: &Json) -> Result<(), CommandError> {
        self.document(&json_text::pretty(value), Form::Json)
    }

    /// Prints a text of any form and a line break.
    pub(crate) fn document(&mut self, text: &str, form: Form) -> Result<(), CommandError> {
        let text = self.harmless(text, form);
        wanted(writeln!(self.stdout, "{text}"))
    }

    /// From now on, what happens is printed while it happens.
    pub(crate) fn stream(&mut self) {
        self.streams = true;
    }

    /// Writes an event as a line of JSON, for a program that reads along.
    pub(crate) fn happened(&mut self, kind: &str, about: impl FnOnce() -> Json) {
        if self.streams {
            // Whoever cannot be told now is told at the end, or why not.
            let _ = self.document(&ndjson_happened(kind, about()), Form::Json);
        }
    }

    /// Prints a text as it is, byte for byte, without a line break; only commands for a CI system are broken up. On a
    /// terminal, control characters are printed as escapes, which mean the same in JSON.
    pub(crate) fn exactly(&mut self, text: &str, form: Form) -> Result<(), CommandError> {
        if form == Form::Json && io::stdout().is_terminal() {
            return self.document(json_text::escaped(text).trim_end(), form);
        }
        let text = self.harmless(text, form);
        wanted(self.stdout.flush().and_then(|()| io::stdout().write_all(text.as_bytes())))
    }

    /// Returns true if standard output is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// Passes on the output of a command in a sandbox, byte for byte, to standard output or standard error.
    pub(crate) fn pass_on(&mut self, is_error: bool, bytes: &[u8]) -> io::Result<()> {
        let write = |mut stream: Box<dyn io::Write>| stream.write_all(bytes).and_then(|()| stream.flush());
        if is_error { write(Box::new(io::stderr())) } else { write(Box::new(io::stdout())) }
    }

    fn harmless<'a>(&self, text: &'a str, form: Form) -> Cow<'a, str> {
        if self.is_read_by_ci { ci_commands::harmless(text, form) } else { Cow::Borrowed(text) }
    }

    /// Prints a report for people, with colours where they are wanted.
    pub(crate) fn report(&mut self, text: &str) -> Result<(), CommandError> {
        if self.style == Style::Coloured { self.line(painted(text)) } else { self.line(text) }
    }

    /// Reports progress, beside the output.
    pub(crate) fn note(&mut self, text: impl AsRef<str>) {
        let is_seen = self.style == Style::Coloured && io::stderr().is_terminal();
        let text = self.harmless(text.as_ref(), Form::Text);
        let text = if is_seen { painted(&text) } else { text.into_owned() };
        let _ = live_view::beside(|| writeln!(io::stderr(), "{text}"));
    }

    /// Prints a message that users should know, beside the output.
    pub(crate) fn notice(&mut self, text: &str) {
        self.note(format!("touchstone: {text}"));
    }

    /// Prints an error.
    pub(crate) fn problem(&mut self, error: &CommandError) {
        // A message repeats what it was given: arguments, names of files, words of other programs.
        self.notice(&untrusted::visible(&error.to_string()));
    }

    /// Creates a view of running scenarios if standard error is a terminal.
    pub(crate) fn live_view(&self, total: u64, ended: u64) -> Option<LiveView> {
        io::stderr().is_terminal().then(|| LiveView::new(total, ended))
    }

    /// The width of the terminal, or of a page when there is none.
    pub(crate) fn width(&self) -> u16 {
        const PAGE: u16 = 120;
        // With less, a table has more lines than columns; the terminal can break lines itself.
        const NARROWEST: u16 = 60;
        columns().map_or(PAGE, |columns| columns.max(NARROWEST))
    }

    /// Ends the program: says what went wrong, and gives the exit code.
    pub(crate) fn finish(mut self, result: Result<Exit, CommandError>) -> ExitCode {
        match result.and_then(|exit| wanted(self.stdout.flush()).map(|()| exit)) {
            Ok(exit) => exit.into(),
            Err(error) => {
                let _ = self.stdout.flush();
                self.problem(&error);
                let exit = match error {
                    CommandError::Usage(_) => Exit::Usage,
                    CommandError::InvalidSpec(_) => Exit::InvalidSpec,
                    CommandError::Infrastructure(_) | CommandError::Write(_) | CommandError::Machine(_) => {
                        Exit::Infrastructure
                    }
                };
                exit.into()
            }
        }
    }
}

/// Returns the width of the terminal, if there is one.
pub(crate) fn columns() -> Option<u16> {
    let columns = || Term::stdout().size_checked().map(|(_, columns)| columns);
    io::stdout().is_terminal().then(columns).flatten()
}

/// Returns true if colours are wanted and can be displayed.
fn wants_colours(colour: Colour, is_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let no_colour = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_dumb = variable("TERM").is_some_and(|terminal| terminal == "dumb");
    match colour {
        Colour::Auto => is_terminal && !no_colour && !is_dumb,
        Colour::Always => true,
        Colour::Never => false,
    }
}

/// Ignores a closed pipe: a reader that has seen enough is no failure, and changes no verdict.
fn wanted(written: io::Result<()>) -> Result<(), CommandError> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(CommandError::Write),
    }
}

#[cfg(test)]
mod tests {
    use super::{Colour, wants_colours};

    #[test]
    fn colours_are_for_terminals_that_have_them() {
        let wants = |colour, is_terminal, set: &[(&str, &str)]| {
            let variable = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
            wants_colours(colour, is_terminal, variable)
        };
        assert!(wants(Colour::Auto, true, &[("TERM", "xterm"), ("NO_COLOR", "")]));
        assert!(!wants(Colour::Auto, false, &[("TERM", "xterm")]));
        assert!(!wants(Colour::Auto, true, &[("TERM", "dumb")]));
        assert!(!wants(Colour::Auto, true, &[("NO_COLOR", "1")]));
        assert!(wants(Colour::Always, false, &[("NO_COLOR", "1")]));
        assert!(!wants(Colour::Never, true, &[]));
    }
}
