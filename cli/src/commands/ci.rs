//! `touchstone ci`: validate, run, compare, report: one command for a pipeline.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use scenario::quarantine::QuarantineList;
use scenario::regression::{Gate, RunComparison};
use scenario::report::{Report, Reports, comment};
use scenario::spec::render;
use tokio::runtime::Runtime;

use super::run::{Run, excuse, exit};
use super::watch::gather;
use crate::baselines::{BaselineOptions, PlaceOf};
use crate::certified::CertifiedOptions;
use crate::client::{RemoteRun, Server, ServerOptions};
use crate::documents::require_writable;
use crate::exit_code::Exit;
use crate::gate_options::GateOptions;
use crate::output::{CommandError, Output};
use crate::quarantine::{QuarantineOption, today, with_streaks};
use crate::session::Finish;
use crate::signals::Signals;
use crate::source::{has_error, sources};
use crate::submitting::{Sent, outgoing, submit};
use crate::suite_files::SuiteFile;

/// Validate specs, run them, compare with a baseline, and report: one command for a pipeline.
///
/// They are run on this machine, or by a server when a URL is given. With --baseline, a file or a name, a regression makes the exit code 1, and
/// so does something that the baseline has and this run does not, unless --allow-removed is given; what nobody can tell from so few
/// scenarios is called insufficient evidence, and does not. Ctrl-C, or the end of the pipeline's job,
/// cancels what runs.
#[derive(Debug, Args)]
pub(crate) struct Ci {
    #[command(flatten)]
    run: Run,
    #[command(flatten)]
    baseline: BaselineOptions,
    #[command(flatten)]
    quarantine: QuarantineOption,
    /// Pass also when specs, cells or invariants of the baseline are missing in this run, as after removing them or with another
    /// --filter or --param.
    #[arg(long)]
    allow_removed: bool,
    #[command(flatten)]
    gate: GateOptions,
    #[command(flatten)]
    certified: CertifiedOptions,
    /// Treat warnings about specs as errors.
    #[arg(long)]
    deny_warnings: bool,
    /// Write the body of a comment on a pull request to this file: Markdown, with a marker in its first line by which the
    /// same comment is found and replaced the next time.
    #[arg(long, value_name = "FILE")]
    comment: Option<PathBuf>,
    /// What tells the comments of several pipelines on one pull request apart.
    #[arg(long, value_name = "WORD", default_value = "report")]
    comment_key: String,
    #[command(flatten)]
    server: ServerOptions,
}

impl Ci {
    pub(crate) fn run(mut self, output: &mut Output) -> Result<Exit, CommandError> {
        self.run.work.backend = self.run.work.backend.without_fallback("`ci`");
        let documents = self.run.documents.check(output)?;
        if let Some(path) = &self.comment {
            require_writable(path).map_err(CommandError::usage)?;
            if documents.has(path) {
                let path = path.display();
                return Err(CommandError::Usage(format!("`{path}` cannot be a report and a comment")));
            }
        }
        let opened = self.run.open_suite(output);
        if matches!(opened, Ok(true))
            && let Some(problem) = self.certified.problem(&self.run.paths, &self.run.work.store)?
        {
            output.problem(&CommandError::Usage(problem.clone()));
            let excuse = Reports { note: Some(problem), ..Reports::default() };
            documents.without(self.baseline.file()).excuse(&excuse, output);
            return self.write_comment(&excuse, Exit::Failed, output);
        }
        let worked = match opened {
            Ok(true) => self.work_as_suite(documents.are_annotations(), output),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        if let Some(excuse) = excuse(&worked) {
            // Where a baseline is replaced by each run, it outlives one that could not begin.
            documents.without(self.baseline.file()).excuse(&excuse, output);
            // The comment of an earlier push would go on saying that all is well.
            self.write_comment(&excuse, Exit::Infrastructure, output)?;
        }
        let Some((finish, reports)) = worked? else { return Ok(Exit::InvalidSpec) };
        let reports = with_streaks(reports, self.place()?, output);
        let exit = documents.publish(&reports, exit(finish, &reports), output)?;
        let exit = self.write_comment(&reports, exit, output)?;
        self.baseline.keep(exit, &reports, self.place()?, output)
    }

    /// Compares with the suite's baseline where no other is named, and works.
    fn work_as_suite(
        &mut self,
        as_annotations: bool,
        output: &mut Output,
    ) -> Result<Option<(Finish, Reports)>, CommandError> {
        if let Some(baseline) = self.run.suite().and_then(SuiteFile::baseline) {
            self.baseline.use_of_suite(&baseline).map_err(CommandError::usage)?;
        }
        self.work(as_annotations, output)
    }

    /// Validates, runs and compares; `None` when a spec is not valid, after saying why.
    fn work(&self, as_annotations: bool, output: &mut Output) -> Result<Option<(Finish, Reports)>, CommandError> {
        let quarantine = self.quarantine.or(self.run.suite().and_then(SuiteFile::quarantine)).read(output)?;
        let baseline = self.baseline.read(self.place()?, output)?;
        let gate = self.gate.gate()?;
        if !self.validate(as_annotations, output)? {
            return Ok(None);
        }
        let worked = match self.server.named()? {
            Some(server) => {
                self.remotely(&server, output)?.map(|(finish, reports)| (finish, self.run.as_suite(reports)))
            }
            None => self.run.reports(output)?,
        };
        Ok(worked.map(|(finish, reports)| (finish, self.gated(reports, baseline, &gate, quarantine.as_ref()))))
    }

    /// The reports with what became of the baseline and of the quarantine, of which nothing is compared.
    fn gated(
        &self,
        mut reports: Reports,
        baseline: Option<(String, Vec<Report>)>,
        gate: &Gate,
        quarantine: Option<&QuarantineList>,
    ) -> Reports {
        let today = today();
        let gated = |reports: &[Report]| match quarantine {
            Some(list) => list.gated(reports, today),
            None => reports.to_vec(),
        };
        reports.comparison = baseline.map(|(name, baseline)| {
            let comparison = RunComparison::gated(&name, &gated(&baseline), &gated(&reports.reports), gate);
            if self.allow_removed { comparison } else { comparison.without_removal() }
        });
        if let Some(list) = quarantine {
            // What is in quarantine fails no floor.
            reports.outcome = self.run.outcome(&list.gated(&reports.reports, today));
            reports.quarantine = Some(list.judge(&mut reports.reports, today));
        }
        reports
    }

    /// The place of named baselines: the server that runs everything, or this machine.
    fn place(&self) -> Result<PlaceOf<'_>, CommandError> {
        Ok(PlaceOf { server: self.server.named()?, store: &self.run.work.store })
    }

    /// Returns true if all specs are valid. Shows the findings, as annotations where those are wanted.
    fn validate(&self, as_annotations: bool, output: &mut Output) -> Result<bool, CommandError> {
        // Standard input can be read once, and the run reads it.
        if self.run.paths.iter().any(|path| path.as_os_str() == "-") {
            return Ok(true);
        }
        let (sources, readable) = sources(&self.run.paths);
        readable?;
        let mut is_valid = true;
        for source in &sources {
            let found = source.load().diagnostics;
            if !(has_error(&found) || (self.deny_warnings && !found.is_empty())) {
                continue;
            }
            is_valid = false;
            for diagnostic in &found {
                output.line(match as_annotations {
                    true => render::github(diagnostic, &source.name),
                    false => format!("{}\n", render::text(diagnostic, &source.name, &source.text, output.style())),
                })?;
            }
        }
        Ok(is_valid)
    }

    /// Runs everything on a server.
    fn remotely(&self, server: &Server, output: &mut Output) -> Result<Option<(Finish, Reports)>, CommandError> {
        if self.run.resume.is_some() {
            return Err(CommandError::Usage("a server finishes its runs by itself; leave --resume away".to_owned()));
        }
        let read = outgoing(&self.run.paths, &self.run.choices, &self.run.work.secrets, output)?;
        let Some(outgoing) = read else { return Ok(None) };
        Runtime::new()?.block_on(async {
            let sent = submit(server, outgoing, None, None, None).await?;
            for one in &sent {
                output.note(format!("submitted {} as {} to {}", one.spec_id, one.accepted.experiment, server.place()));
            }
            let mut signals = Signals::listen()?;
            match gather(server, &sent, &mut signals, output).await? {
                Some(reports) => Ok(Some((Finish::All, reports))),
                None => Ok(Some((Finish::Interrupted, cancelled(server, &sent, output).await))),
            }
        })
    }

    fn write_comment(&self, reports: &Reports, exit: Exit, output: &mut Output) -> Result<Exit, CommandError> {
        let Some(path) = &self.comment else { return Ok(exit) };
        let Err(error) = fs::write(path, comment(reports, &self.comment_key)) else { return Ok(exit) };
        let problem = CommandError::Infrastructure(format!("cannot write `{}`: {error}", path.display()));
        if exit == Exit::Passed {
            return Err(problem);
        }
        output.problem(&problem);
        Ok(exit)
    }
}

/// Cancels the runs on the server, and reports those that had ended. A pipeline that was stopped leaves nothing
/// running.
async fn cancelled(server: &Server, sent: &[Sent], output: &mut Output) -> Reports {
    output.note("interrupted: cancelling on the server");
    let mut reports = Vec::new();
    for one in sent {
        let run: RemoteRun = one.run();
        // What has ended already cannot be cancelled, and need not be.
        if let Err(error) = server.cancel(&run, "the pipeline was interrupted").await
            && !matches!(error, CommandError::Usage(_))
        {
            output.note(format!("problem: {} was not cancelled: {error}", run.name()));
        }
        reports.extend(server.report(&run).await.ok().map(|(report, _)| report));
    }
    let note = Finish::Interrupted.note().map(ToOwned::to_owned);
    Reports { reports, note, ..Reports::default() }
}
