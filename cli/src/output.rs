//! The only file that prints.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::ValueEnum;
use scenario::spec::render::Style;

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
    Write(#[from] io::Error),
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
        // Warnings of the engine, such as something that could not be removed, reach people too.
        let warnings = tracing_subscriber::fmt().with_max_level(tracing_subscriber::filter::LevelFilter::WARN);
        let _ = warnings.with_writer(io::stderr).with_target(false).with_ansi(false).without_time().try_init();
        Self { stdout: anstream::AutoStream::new(io::stdout(), choice), style }
    }

    /// How findings are shown.
    pub(crate) fn style(&self) -> Style {
        self.style
    }

    /// Prints a text and a line break.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) -> Result<(), CommandError> {
        writeln!(self.stdout, "{}", text.as_ref())?;
        Ok(())
    }

    /// Tells of progress, beside the output.
    pub(crate) fn note(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(io::stderr(), "{}", text.as_ref());
    }

    /// Ends the program: says what went wrong, and gives the exit code.
    pub(crate) fn finish(mut self, result: Result<Exit, CommandError>) -> ExitCode {
        match result.and_then(|exit| self.stdout.flush().map(|()| exit).map_err(CommandError::from)) {
            Ok(exit) => exit.into(),
            // Whoever read the output has seen enough.
            Err(CommandError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Passed.into(),
            Err(error) => {
                let _ = self.stdout.flush();
                let _ = writeln!(io::stderr(), "touchstone: {error}");
                let exit = match error {
                    CommandError::Infrastructure(_) => Exit::Infrastructure,
                    CommandError::Usage(_) | CommandError::Write(_) => Exit::Usage,
                };
                exit.into()
            }
        }
    }
}
