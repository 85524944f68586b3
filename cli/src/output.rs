//! The only file that prints.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::ValueEnum;
use console::Term;
use indicatif::{ProgressBar, ProgressStyle};
use scenario::spec::render::Style;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::exit_code::Exit;

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

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// The command was used wrongly.
    #[error("{0}")]
    Usage(String),
    /// What the command needs could not be had.
    #[error("{0}")]
    Infrastructure(String),
    /// The output could not be written.
    #[error("cannot write the output: {0}")]
    Write(io::Error),
    /// The machine did not give what every command needs.
    #[error("the machine refuses: {0}")]
    Machine(#[from] io::Error),
}

/// Warnings of ours, such as something that could not be removed, reach people too; those of libraries do not. What a
/// service does is told as well.
fn show_warnings() {
    let ours = ["engine", "server", "store", "worker"].map(|target| (target, LevelFilter::WARN));
    let ours = ours.into_iter().chain([("touchstone", LevelFilter::INFO)]);
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_target(false).with_ansi(false);
    let shown = lines.without_time().with_filter(Targets::new().with_targets(ours));
    let _ = tracing_subscriber::registry().with(shown).try_init();
}

/// A bar that shows how far something is, on standard error.
#[derive(Debug)]
pub(crate) struct Bar(ProgressBar);

impl Bar {
    fn new(steps: u64) -> Self {
        let bar = ProgressBar::new(steps);
        if let Ok(style) = ProgressStyle::with_template("[{bar:24}] {pos}/{len} {elapsed} {wide_msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.enable_steady_tick(Duration::from_millis(250));
        Self(bar)
    }

    /// So many steps are done.
    pub(crate) fn set(&self, steps: u64) {
        self.0.set_position(steps);
    }

    /// One more step is done.
    pub(crate) fn advance(&self) {
        self.0.inc(1);
    }

    /// What is being done.
    pub(crate) fn message(&self, text: &str) {
        self.0.set_message(text.to_owned());
    }

    /// A line above the bar, which stays.
    pub(crate) fn line(&self, text: &str) {
        self.0.println(text);
    }

    /// Takes the bar away.
    pub(crate) fn end(&self) {
        self.0.finish_and_clear();
    }
}

/// Standard output and standard error.
#[derive(Debug)]
pub(crate) struct Output {
    stdout: anstream::AutoStream<io::Stdout>,
    style: Style,
}

impl Output {
    /// Output with colours as asked for.
    pub(crate) fn new(colour: Colour) -> Self {
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let coloured = match colour {
            Colour::Auto => io::stdout().is_terminal() && !no_colour,
            Colour::Always => true,
            Colour::Never => false,
        };
        let (style, choice) = if coloured {
            (Style::Coloured, anstream::ColorChoice::Always)
        } else {
            (Style::Plain, anstream::ColorChoice::Never)
        };
        show_warnings();
        Self { stdout: anstream::AutoStream::new(io::stdout(), choice), style }
    }

    /// How findings are shown.
    pub(crate) fn style(&self) -> Style {
        self.style
    }

    /// Prints a text and a line break.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) -> Result<(), CommandError> {
        wanted(writeln!(self.stdout, "{}", text.as_ref()))
    }

    /// Prints a text as it is, byte for byte, and no line break.
    pub(crate) fn exactly(&mut self, text: &str) -> Result<(), CommandError> {
        wanted(self.stdout.flush().and_then(|()| io::stdout().write_all(text.as_bytes())))
    }

    /// Tells of progress, beside the output.
    pub(crate) fn note(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(io::stderr(), "{}", text.as_ref());
    }

    /// Says something that people should know, beside the output.
    pub(crate) fn notice(&mut self, text: &str) {
        self.note(format!("touchstone: {text}"));
    }

    /// Says what went wrong.
    pub(crate) fn problem(&mut self, error: &CommandError) {
        self.notice(&error.to_string());
    }

    /// A bar for so many steps, where somebody can see it.
    pub(crate) fn bar(&self, steps: u64) -> Option<Bar> {
        io::stderr().is_terminal().then(|| Bar::new(steps))
    }

    /// The width of the terminal, or of a page when there is none.
    pub(crate) fn width(&self) -> u16 {
        const PAGE: u16 = 120;
        if !io::stdout().is_terminal() {
            return PAGE;
        }
        Term::stdout().size_checked().map_or(PAGE, |(_, columns)| columns)
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
                    CommandError::Infrastructure(_) | CommandError::Write(_) | CommandError::Machine(_) => {
                        Exit::Infrastructure
                    }
                };
                exit.into()
            }
        }
    }
}

/// Whoever read the output may have seen enough, and closed it: that is no failure, and changes no verdict.
fn wanted(written: io::Result<()>) -> Result<(), CommandError> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(CommandError::Write),
    }
}
