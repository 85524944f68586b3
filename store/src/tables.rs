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
    /// Texts of specs.
    Specs { Digest, Text, CreatedAt }
    /// The files beside a spec.
    SpecFiles { Spec, Path, Executable, Blob }
    /// Contents.
    Blobs { Digest, Content }
    /// What shows that specs tell right answers from others.
    Certificates { Owner, SpecId, Digest, Verdict, MadeAt, Body }
    /// The tags of specs.
    SpecTags { Tag, Spec }
    /// The versions of a spec.
    SpecVersions { Owner, SpecId, Version, Digest, CreatedAt }
    /// Submissions of a spec.
    Experiments { Id, SpecId, Version, Digest, Source, Seed, Settings, CreatedAt, Owner, Name, Pinned }
    /// Runs of an experiment.
    Runs {
        Experiment, Number, Kind, Digest, State, Lane, Total, Ended, Reason, Verdict, Score, CreatedAt, EndedAt, Passed,
        Failed, Flaky, Errors, Composite, CostUsd, WallMs, Resilience, Recovered, Degraded, Fabricated, Corrupted,
    }
    /// Scenarios of a run.
    Scenarios {
        Experiment, Run, Id, Position, Plan, Status, Composite, WallMs, ExitCode, ErrorKind, ErrorMessage, Sandbox,
        Forbidden, Limits, Offences, Notes, Caveats, FaultsFired, Replay, RanIn, ToolCalls, ToolErrors, Model, Calls, InputTokens, OutputTokens,
        CacheReadTokens, CostUsd, EvidenceJob, EvidenceAttempt, EndedAt,
    }
    /// Verdicts on invariants.
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
    /// Events.
    Events { Number, Experiment, Run, Scenario, Attempt, At, Kind, Body }
    /// The last numbers that were given.
    Counters { Kind, Owner, Name, Last }
    /// API keys.
    ApiKeys { Id, Owner, Name, Scope, Hash, Sandbox, CreatedAt, LastUsedAt, RevokedAt }
    /// Values that nobody may see.
    Secrets { Owner, Name, Sealed }
    /// The secrets of an experiment.
    ExperimentSecrets { Experiment, Sealed }
    /// Single values that belong to the whole database.
    Settings { Name, Value }
    /// Versions of agents.
    Snapshots { Id, Owner, Name, Version, Tag, Digest, Size, Runtime, Entrypoint, Auth, CreatedAt }
    /// Traces of agents.
    Traces {
        Number, Owner, Experiment, Run, Scenario, Sandbox, Agent, SelfReported, At, EventType, Tool, Phase, Status,
        SpanId, ParentSpanId, RootSpanId, DurationMs, Body,
    }
    /// Records to evaluate with.
    Datasets { Id, Owner, Name, Description, Version, CreatedAt }
    /// The records of a dataset.
    DatasetRecords { Number, Id, Dataset, Version, Input, Expected, Metadata, Tags }
    /// The tags of records.
    RecordTags { Record, Tag }
    /// Rules that are looked at when a run ends.
    Alerts { Id, Owner, Name, EvalId, Condition, Timeframe, Notify, WebhookUrl, SlackChannel, Events, CreatedAt }
    /// Rules that fired.
    AlertFirings { Number, Alert, Experiment, Run, Reason, FiredAt }
    /// Messages to the outside.
    Deliveries { Id, Alert, Url, Body, State, Attempts, DueAt, LastError, CreatedAt, EndedAt }
    /// Runs that ended.
    RunEnds { Number, Experiment, Run, EndedAt, DueAt }
    /// Rules by which scenarios are scored afterwards.
    ScoreRules { Id, Owner, Name, Kind, Config, CreatedAt }
    /// Their scores.
    Scores { Number, Rule, Experiment, Run, Scenario, Trace, Score, Passed, Message, CreatedAt }
    /// Runs that somebody wants to be scored.
    ScoreRequests { Number, Experiment, Run, Rules, State, Attempts, DueAt, LastError, CreatedAt }
    /// Requests that are answered once.
    Idempotency { Owner, Key, Fingerprint, Experiment, Run, BusyUntil, CreatedAt }
    /// Runs that later ones are compared with, by name.
    Baselines {
        Owner, Name, Branch, SpecId, Digest, Experiment, Run, Cells, Replicas, Passed, Verdict, SavedAt, SavedBy, Reason,
        Overridden, Report,
    }
    /// Processes that do jobs.
    Workers {
        Id, Host, Control, Slots, CpuMilli, Memory, Running, FreeDisk, Reason, Version, StartedAt, SeenAt,
    }
    /// Calls that wait for a person's decision.
    Approvals {
        Id, Experiment, Run, Scenario, Session, Tool, ArgumentsHash, Contract, Repetition, Call, StateVersion, Context,
        Checkpoints, Reason, RequestedAt, Deadline, AllowsOnTimeout, Status, DecidedBy, DecidedKey, Note, DecidedAt,
        UsedIn, Told, DueAt,
    }
    /// What people say about outputs that judges rate.
    Labels { Id, Experiment, Run, Scenario, Invariant, Label, Person, Note, CreatedAt }
    /// Sessions under tool contracts whose agents run somewhere else.
    ContractSessions { Id, Owner, Agent, Contract, Mode, Terms, Status, Requests, Bytes, LastHash, CreatedAt }
    /// The requests of such a session.
    ContractSessionRequests { Session, Number, Sealed }
    /// Interventions of operators in sessions of scenarios.
    ContractInterventions { Number, Experiment, Run, Scenario, Body, CreatedAt }
    /// Sandboxes that people work in themselves.
    Sandboxes {
        Id, Owner, SpecId, Digest, State, Wanted, Worker, Token, Epoch, LeaseUntil, Metadata, Services, Secrets, Error,
        TimeoutMs, CpuMilli, Memory, CreatedAt, ExpiresAt, EndedAt,
    }
}
