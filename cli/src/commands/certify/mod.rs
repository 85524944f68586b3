//! `touchstone certify`: shows that specs tell a right answer from none, and from a pretended one.

mod agents;
mod breakages;
mod progress;
mod show;

use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use scenario::certificate::{Certificate, CertificateHeader, CertificateVerdict};
use scenario::plan::AgentOverride;
use scenario::report::Skipped;
use store::Clock as _;
use tokio::runtime::Runtime;

use super::run::{Planned, Plans, Run, plans};
use crate::choices::Choices;
use crate::clock::SystemClock;
use crate::documents::require_writable;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::session::{Finish, Keeping, LAST, Session, WorkOptions};
use crate::whole_number::whole_number;
use agents::Rehearsals;
use breakages::Breaking;

/// Show that specs tell a right answer from none, and from a pretended one.
///
/// Each spec is run without faults by an agent that does nothing, which must fail in every cell; by its own solution, which
/// must pass in every cell; and by cheats, none of which may pass. A spec whose solution, or whose doing nothing, passes once and fails once has a flaky
/// world, which is an error and no agent's failure. What comes of it is a certificate for exactly this content of the spec; it is
/// kept in the data directory, and `touchstone ci --certified` asks for it.
#[derive(Debug, Args)]
pub(crate) struct Certify {
    /// Spec files, folders (searched for specs), patterns such as 'specs/check-*', or - for standard input.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// How often each cell is run by doing nothing, and by the solution. Cheats are run once.
    #[arg(long, value_name = "N", default_value = "3", value_parser = whole_number::<NonZeroUsize>)]
    replicas: NonZeroUsize,
    /// Break the right answer in many ways too, and list those that no invariant notices: each file, row and request of the
    /// solution is removed, cut, doubled or changed. Only specs that are certified are tried.
    #[arg(long)]
    mutate: bool,
    /// Break the right answer of each spec in at most so many ways, chosen by its seed.
    #[arg(long, value_name = "N", default_value = "40", requires = "mutate", value_parser = whole_number::<NonZeroUsize>)]
    at_most: NonZeroUsize,
    /// Use this seed instead of the spec's own.
    #[arg(long, value_parser = whole_number::<u64>)]
    seed: Option<u64>,
    /// Keep the runs in the history too, and not only the certificates.
    #[arg(long)]
    keep_runs: bool,
    /// How to show the certificates.
    #[arg(long, value_enum, default_value_t = CertifyFormat::Text)]
    format: CertifyFormat,
    /// Write the certificates to a file too, as JSON: `touchstone ci --certificates FILE` reads it.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    work: WorkOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CertifyFormat {
    /// For people.
    Text,
    /// One JSON object.
    Json,
}

/// What came of it.
pub(super) struct Certified {
    /// The certificates, in the order of the specs.
    pub(super) certificates: Vec<Certificate>,
    /// Specs that were not run.
    pub(super) skipped: Vec<Skipped>,
}

impl Certify {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        if let Some(path) = &self.output {
            require_writable(path).map_err(CommandError::usage)?;
        }
        let choices = Choices {
            replicas: Some(self.replicas.get()),
            seed: self.seed,
            agent: Some(AgentOverride::Oracle),
            ..Choices::default()
        };
        let run = Run::for_certificate(self.paths.clone(), choices, self.work.clone());
        let Some(mut plans) = plans(&run, output)? else { return Ok(Exit::InvalidSpec) };
        let runtime = Runtime::new()?;
        let certified = runtime.block_on(self.certify(&mut plans, output));
        // Whatever still runs in the background has no say any more.
        runtime.shutdown_timeout(LAST);
        let Some(certified) = certified? else { return Ok(Exit::Interrupted) };
        self.publish(&certified, output)
    }

    /// Runs everything; `None` when it was interrupted.
    async fn certify(&self, plans: &mut Plans, output: &mut Output) -> Result<Option<Certified>, CommandError> {
        let keeping = if self.keep_runs { Keeping::History } else { Keeping::Nothing };
        let specs: Vec<_> = plans.planned.iter().map(|planned| &planned.spec).collect();
        let session = Session::begin(self.work.clone(), keeping, self.work.permissions()?, &specs).await?;
        session.warn(output);
        plans.refuse(|spec| session.misfit(spec))?;
        let rehearsals = Rehearsals::submit(&session, &plans.planned, &self.work).await?;
        if !require_end(rehearsals.work(&session, output).await?)? {
            return Ok(None);
        }
        let mut certificates = Vec::new();
        for planned in &plans.planned {
            let header = CertificateHeader {
                spec_digest: planned.content.digest(),
                touchstone: env!("CARGO_PKG_VERSION").to_owned(),
                made_at: SystemClock.now(),
                replicas: self.replicas.get(),
            };
            certificates.push(rehearsals.certificate(&session, planned, header).await?);
        }
        if self.mutate && !self.measure(&session, &plans.planned, &mut certificates, output).await? {
            return Ok(None);
        }
        session.end().await;
        self.keep(&certificates).await?;
        Ok(Some(Certified { certificates, skipped: std::mem::take(&mut plans.skipped) }))
    }

    /// Adds the strength of specs that are certified; false when it was interrupted.
    async fn measure(
        &self,
        session: &Session,
        planned: &[Planned],
        certificates: &mut [Certificate],
        output: &mut Output,
    ) -> Result<bool, CommandError> {
        let pairs = planned.iter().zip(certificates);
        let (sound, certificates): (Vec<_>, Vec<_>) =
            pairs.filter(|(_, one)| one.verdict == CertificateVerdict::Certified).unzip();
        let breaking = Breaking { session, work: &self.work, at_most: self.at_most.get() };
        let Some(strengths) = breaking.strengths(&sound, output).await? else { return Ok(false) };
        for (certificate, strength) in certificates.into_iter().zip(strengths) {
            certificate.strength = Some(strength);
        }
        Ok(true)
    }

    /// Keeps the certificates.
    async fn keep(&self, certificates: &[Certificate]) -> Result<(), CommandError> {
        let store = self.work.store.open().await?.store;
        for certificate in certificates {
            store.keep_certificate("", certificate).await?;
        }
        store.close().await;
        Ok(())
    }

    /// Shows the certificates, and writes them down.
    fn publish(&self, certified: &Certified, output: &mut Output) -> Result<Exit, CommandError> {
        let json = show::json(certified);
        if let Some(path) = &self.output {
            let text = format!("{json:#}\n");
            let problem = |error| CommandError::Infrastructure(format!("cannot write `{}`: {error}", path.display()));
            fs::write(path, text).map_err(problem)?;
        }
        match self.format {
            CertifyFormat::Text => output.report(show::text(certified, output.width()).trim_end())?,
            CertifyFormat::Json => output.json(&json)?,
        }
        Ok(exit(&certified.certificates))
    }
}

/// True when all has ended, and false when it was interrupted.
fn require_end(finish: Finish) -> Result<bool, CommandError> {
    match finish {
        Finish::All => Ok(true),
        Finish::Interrupted | Finish::Abandoned => Ok(false),
        other => Err(CommandError::Infrastructure(other.note().unwrap_or("not all of it ended").to_owned())),
    }
}

/// A spec that is not certified goes before one that could not be judged.
fn exit(certificates: &[Certificate]) -> Exit {
    let codes: Vec<u8> = certificates.iter().map(|certificate| certificate.verdict.exit_code()).collect();
    match () {
        () if codes.contains(&1) => Exit::Failed,
        () if codes.contains(&4) => Exit::Infrastructure,
        () => Exit::Passed,
    }
}
