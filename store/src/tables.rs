//! The names of tables and columns, as in `migrations/`.

use sea_query::Iden;

macro_rules! tables {
    ($($(#[doc = $doc:literal])+ $table:ident { $($column:ident),+ $(,)? })+) => {
        $(
            $(#[doc = $doc])+
            #[derive(Debug, Clone, Copy, Iden)]
            pub(crate) enum $table {
                Table,
                $($column,)+
            }
        )+
    };
}

tables! {
    /// What specs say.
    Specs { Digest, Text, CreatedAt }
    /// The files beside a spec.
    SpecFiles { Spec, Path, Executable, Blob }
    /// Contents.
    Blobs { Digest, Content }
    /// The versions of a spec.
    SpecVersions { SpecId, Version, Digest, CreatedAt }
    /// Submissions of a spec.
    Experiments { Id, SpecId, Version, Digest, Source, Seed, Settings, CreatedAt }
    /// Runs of an experiment.
    Runs { Experiment, Number, Kind, Digest, State, Lane, Total, Ended, Reason, Verdict, Score, CreatedAt, EndedAt }
    /// Scenarios of a run.
    Scenarios {
        Experiment, Run, Id, Position, Plan, Status, Composite, WallMs, ExitCode, ErrorKind, ErrorMessage, Sandbox,
        Forbidden, Limits, Offences, Notes, ToolCalls, ToolErrors, Model, Calls, InputTokens, OutputTokens,
        CacheReadTokens, CostUsd, EvidenceJob, EvidenceAttempt, EndedAt,
    }
    /// What judging says about each invariant.
    Verdicts {
        Experiment, Run, Scenario, Position, Name, Description, Weight, Gate, Outcome, ErrorKind, Score, Message,
        Reason, Details,
    }
    /// The queue.
    Jobs {
        Id, Experiment, Run, Scenario, State, Lane, Priority, ReadyAt, CpuMilli, Memory, AtOnce, Epoch, Failures,
        Cancelled, Worker, Token, LeaseUntil,
    }
    /// Tries of a job.
    Attempts { Job, Number, Worker, Outcome, Message, StartedAt, EndedAt, Digest, Size, Body }
    /// What happened.
    Events { Number, Experiment, Run, Scenario, Attempt, At, Kind, Body }
}
