//! The stable names of everything that can be wrong with a spec.

use std::fmt;

use serde::{Serialize, Serializer};

use super::diagnostic::Severity;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $severity:ident;)+) => {
        /// One kind of finding; its name never changes, so that CI and editors may rely on it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Code {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name that people and machines see.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns the meaning of the code, and its fix.
            #[must_use]
            pub fn explanation(self) -> String {
                let lines: &[&str] = match self { $(Self::$variant => &[$($doc,)+],)+ };
                lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join("\n")
            }

            /// Returns the severity of the code.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)+ }
            }
        }
    };
}

codes! {
    /// The text is not YAML. The parser stops here, so fix this first; tabs used for indentation and unclosed quotes
    /// are the usual causes.
    YamlSyntax = "yaml-syntax", Error;
    /// The text is over 1 MiB. Keep data in fixture files of the spec's folder, not in the spec.
    YamlTooLarge = "yaml-too-large", Error;
    /// Values are nested more than 64 deep.
    YamlTooDeep = "yaml-too-deep", Error;
    /// The text has too many values or keys once its aliases are expanded.
    YamlTooMany = "yaml-too-many", Error;
    /// A YAML tag such as `!include` or `!!binary`. Only plain data is read; `!!str` is the one tag that is understood.
    YamlTag = "yaml-tag", Error;
    /// The file holds several YAML documents, or none. One file is one spec.
    YamlDocuments = "yaml-documents", Error;
    /// A key that is not a word: a list, a map or nothing; or a merge key `<<` that names no map.
    YamlKey = "yaml-key", Error;
    /// The same key stands twice in one map. YAML readers disagree about which one counts, so neither does.
    DuplicateKey = "duplicate-key", Error;
    /// A key that means nothing here. Unknown keys are errors everywhere, because a misspelt `wieght` that is silently
    /// ignored costs more than an error. At the top level, keys that begin with `x-` are free for anchors and notes.
    UnknownKey = "unknown-key", Error;
    /// A key that must be there is not.
    MissingKey = "missing-key", Error;
    /// A value of another kind: a list where a map belongs, a string where a number belongs.
    WrongType = "wrong-type", Error;
    /// A word that is none of those allowed here.
    UnknownChoice = "unknown-choice", Error;
    /// A value of the right kind that cannot be used: out of range, or not of the form required.
    InvalidValue = "invalid-value", Error;
    /// A part of the language that is reserved, and that this version does not run.
    NotSupportedYet = "not-supported-yet", Error;
    /// A regular expression that does not compile. The syntax is that of Rust's `regex` crate: no look-around and no
    /// back-references, which keeps matching linear in time.
    InvalidRegex = "invalid-regex", Error;
    /// A path that cannot be looked at: it leaves the workspace, is absolute outside `/workspace`, or is no valid glob.
    InvalidPath = "invalid-path", Error;
    /// The tool contracts of a check do not compile. The message names the file, the line and the code of each mistake;
    /// `touchstone tool-contracts check` shows them too, and `touchstone tool-contracts explain` tells what the codes mean.
    InvalidToolContracts = "invalid-tool-contracts", Error;
    /// The agent's output is not a file. Use `input_from: agent_output` in a judge, or let the agent write a file.
    StdoutFile = "stdout-file", Error;
    /// A `{{ … }}` that names a parameter, secret or service that does not exist, or that nearly names a namespace.
    /// Write `\{{` for braces that should stay as they are (`\\{{` inside double quotes). The same code stands for a
    /// secret that a key names without braces.
    InvalidTemplate = "invalid-template", Error;
    /// A service that is not declared under `services`, or a `tool` of a fault that is neither a service nor a route nor a tool.
    UnknownService = "unknown-service", Error;
    /// A service of another kind than the one needed: SQL needs a Postgres or MySQL container, assertions on requests
    /// need an `http_mock`. The same code stands for faults of tools at services, and of services at tools.
    WrongServiceKind = "wrong-service-kind", Error;
    /// Requests to this service are asked for but not kept. A mock keeps them with `record: true`. Those to a container are
    /// never kept, so `http_except` must allow it, or a mock must stand for it. Calls of the model and of tools are seen only where
    /// the spec has a `model`.
    NotRecorded = "not-recorded", Error;
    /// Two things of one kind share a name.
    DuplicateName = "duplicate-name", Error;
    /// Keys that exclude each other.
    ConflictingKeys = "conflicting-keys", Error;
    /// A check or matcher that proves nothing, because it states no condition or an empty one.
    MissingCondition = "missing-condition", Error;
    /// The weights of all invariants add up to zero, so there is nothing to average.
    ZeroWeight = "zero-weight", Error;
    /// The weights of the parts of the overall score do not add up to 1. A part that is left out counts 0.
    WeightSum = "weight-sum", Error;
    /// A route that can never answer, because an earlier one takes every request that it would.
    UnreachableRoute = "unreachable-route", Error;
    /// A rule of a mocked tool that can never answer: an earlier one takes every call that it would, or `input_schema` refuses the
    /// arguments that it waits for.
    UnreachableRule = "unreachable-rule", Error;
    /// An argument that the `input_schema` of its tool does not have.
    UnknownArgument = "unknown-argument", Error;
    /// `input_from` names nothing that exists.
    UnknownInput = "unknown-input", Error;
    /// The plan has no scenario or more than 10,000.
    ScenarioCount = "scenario-count", Error;
    /// A file that the spec names is not in its folder.
    MissingFile = "missing-file", Error;
    /// The spec's folder cannot be taken: it is too large, has too many files, or holds a link.
    InvalidBundle = "invalid-bundle", Error;
    /// The `oracle` agent runs `task.solution`, and there is none.
    MissingSolution = "missing-solution", Error;
    /// A fault that can never fire, whatever the agent does.
    NeverFires = "never-fires", Error;
    /// A check that can never hold, whatever the agent does: a number of calls below 0, or a path with more calls of the model than
    /// are allowed.
    NeverHolds = "never-holds", Error;
    /// `behavior_unchanged` with `baseline: auto` compares with a run without faults, and there is none here: only a contract has
    /// one. Write the expected text under `baseline`.
    NoBaseline = "no-baseline", Error;
    /// Two listeners want the same port of the sandbox.
    PortConflict = "port-conflict", Error;
    /// The spec has no `agent`: it can be validated and used for an interactive sandbox, but not run.
    NoAgent = "no-agent", Warning;
    /// An invariant without `description`; reports show only its name.
    NoDescription = "no-description", Warning;
    /// A `forbidden` rule needs a record that `audit` does not switch on; it is switched on.
    AuditForced = "audit-forced", Warning;
    /// A secret with neither `source` nor `from`; it is taken from the caller's environment.
    SecretSource = "secret-source", Warning;
    /// A literal secret that looks like a real key. Specs are shared and stored; take it from `env` or `file` instead.
    SecretLiteral = "secret-literal", Warning;
    /// `severity: critical` beside `gate: false`: the explicit gate wins.
    SeverityGate = "severity-gate", Warning;
    /// A check's script is not beside the spec. With `runs_in: sandbox` it is read from the workspace, where the agent can
    /// change it; with `runs_in: host` the worker must have it in its own checks folder.
    ScriptNotBundled = "script-not-bundled", Warning;
    /// The agent's command runs a file of the spec's folder that is not copied into the sandbox: the folder itself is not
    /// there. List the file under `setup.files`.
    FileNotCopied = "file-not-copied", Warning;
    /// A bar that cannot be reached, or cannot be missed, with as many replicas as there are, whatever they say. Give it more
    /// replicas, a wider `margin`, or a lower bar.
    NeverDecided = "never-decided", Warning;
    /// A setting that changes nothing here.
    NoEffect = "no-effect", Warning;
    /// A judge passes from a score below 1, and the scenario still asks for more: with `scoring.pass_threshold: 1.0`, or as a gate
    /// with `gate: score`, an output that the judge passes with 0.9 fails the scenario. Lower the threshold of the scenario, or let
    /// gates ask for the verdict (`scoring.gate: verdict`).
    JudgeThreshold = "judge-threshold", Warning;
    /// A check runs a command or script in the sandbox that the agent left, where the agent can have replaced what it runs:
    /// `sh`, `python3`, a module. `verify: fresh` runs it in a new container of the original image with a copy of the
    /// workspace, and `verify: {fresh: [/etc/nginx]}` with a copy of more. There are no services and no network there, so a
    /// check that calls a service says `verify: sandbox`, and then nothing is recommended.
    VerifyFresh = "verify-fresh", Advice;
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
