//! The table of codes.

use super::Class;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $class:ident, $example:literal;)+) => {
        /// One kind of finding; its name never changes.
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

            /// The meaning of the code, and what to do about it.
            #[must_use]
            pub fn explanation(self) -> String {
                let lines: &[&str] = match self { $(Self::$variant => &[$($doc,)+],)+ };
                lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
            }

            /// The kind of code.
            #[must_use]
            pub fn class(self) -> Class {
                match self { $(Self::$variant => Class::$class,)+ }
            }

            /// The shortest text or event that gives it.
            #[must_use]
            pub fn example(self) -> &'static str {
                match self { $(Self::$variant => $example,)+ }
            }
        }
    };
}

codes! {
    /// The file is not YAML that can be read: a syntax error, several documents, a tag, or more than the limits of a
    /// file.
    InvalidYaml = "INVALID_YAML", Error, "tool: [";
    /// A value of another kind than the field takes, such as a list where a map belongs.
    WrongType = "WRONG_TYPE", Error, "timeouts: 30000";
    /// A destructive, admin or financial tool needs better evidence than an acknowledgement: use `local_transaction` or
    /// `unverifiable`.
    AckOnlyOnHighRisk = "ACK_ONLY_ON_HIGH_RISK", Error, "{side_effect: financial, evidence_class: ack_only}";
    /// A required field is absent. The strict profile requires ten fields of a tool file, the lenient one `tool` and
    /// `side_effect`.
    MissingField = "MISSING_FIELD", Error, "tool: wire";
    /// A field that the language does not have. Keys that begin with `x-` are free for notes.
    UnknownField = "UNKNOWN_FIELD", Error, "side_efect: read";
    /// The same key stands twice in one map. YAML readers disagree about which one counts, so neither does; merge them.
    DuplicateKey = "DUPLICATE_KEY", Error, "{policy: {}, policy: {}}";
    /// A word that is none of those allowed here.
    InvalidEnum = "INVALID_ENUM", Error, "side_effect: nuke";
    /// This version reads `schema_version: "1.0"`.
    UnsupportedSchemaVersion = "UNSUPPORTED_SCHEMA_VERSION", Error, "schema_version: \"2.0\"";
    /// `tool` must be the name of its file, so that one tool has one file.
    ToolNameMismatch = "TOOL_NAME_MISMATCH", Error, "tool: refund (in refunds.yaml)";
    /// A path is `$` followed by `.name`, `['name']`, `[3]` or `[*]`.
    InvalidPath = "INVALID_PATH", Error, "path: amount";
    /// A regular expression that does not compile. Look-around and back-references are not available, which keeps
    /// matching linear.
    InvalidRegex = "INVALID_REGEX", Error, "regex: \"(\"";
    /// `type` takes `string`, `number`, `integer`, `boolean`, `object` or `array`.
    InvalidTypeName = "INVALID_TYPE_NAME", Error, "type: float";
    /// An operator with a value that it cannot compare with, such as a string for `gte`.
    InvalidOperand = "INVALID_OPERAND", Error, "gte: \"5\"";
    /// A lower bound above the upper one: no value can pass.
    EmptyRange = "EMPTY_RANGE", Error, "{gte: 5, lte: 1}";
    /// An operator that does not exist, or not in this place; `argument_value_invariants` have fewer operators than
    /// assertions.
    UnknownOperator = "UNKNOWN_OPERATOR", Error, "{path: $.a, contains: x}";
    /// An invariant needs a path and at least one operator.
    InvalidInvariant = "INVALID_INVARIANT", Error, "{path: $.a}";
    /// `tolerance` says how far a value may be from the one of `ref`; without `ref` it means nothing.
    ToleranceWithoutRef = "TOLERANCE_WITHOUT_REF", Error, "{path: $.a, gte: 1, tolerance: 0.1}";
    /// A tolerance is a fraction of 0 or more.
    InvalidTolerance = "INVALID_TOLERANCE", Error, "{ref: a, tolerance: -1}";
    /// Slots are one namespace for the whole session; two binds with one name would overwrite each other.
    DuplicateBinding = "DUPLICATE_BINDING", Error, "binds: [{name: id, path: $.a}] in two files";
    /// `ref` and `when.binding` name a slot that some tool binds.
    UnknownBinding = "UNKNOWN_BINDING", Error, "ref: nope";
    /// A precondition states `requires_prior_tool` or `requires_step_count`, and its other keys belong to the first.
    InvalidPrecondition = "INVALID_PRECONDITION", Error, "preconditions: [{}]";
    /// A prior tool without a contract of its own can never have been called.
    UnknownTool = "UNKNOWN_TOOL", Error, "requires_prior_tool: ghost";
    /// `phases` is a list of `{name, initial, terminal}`.
    PhasesNotAList = "PHASES_NOT_A_LIST", Error, "phases: {start: {}}";
    /// Two phases have the same name.
    DuplicatePhase = "DUPLICATE_PHASE", Error, "phases: [{name: a}, {name: a}]";
    /// Exactly one phase is `initial: true`.
    InitialPhaseCount = "INITIAL_PHASE_COUNT", Error, "phases: [{name: a}]";
    /// At least one phase is `terminal: true`.
    NoTerminalPhase = "NO_TERMINAL_PHASE", Error, "phases: [{name: a, initial: true}]";
    /// A phase that `phases` does not list.
    UndeclaredPhase = "UNDECLARED_PHASE", Error, "advances_to: dnoe";
    /// No transitions lead from the initial phase to this one.
    UnreachablePhase = "UNREACHABLE_PHASE", Error, "phases: [..., {name: lost}]";
    /// From this phase no terminal phase can be reached. Cycles with a way out are fine.
    CircularTransitions = "CIRCULAR_TRANSITIONS", Error, "transitions: {a: [b], b: [a]}";
    /// The tool advances along an edge that `transitions` does not have.
    UndeclaredTransition = "UNDECLARED_TRANSITION", Error, "{valid_in_phases: [a], advances_to: c}";
    /// The tool has transitions, and the session declares no phases.
    TransitionsWithoutPhases = "TRANSITIONS_WITHOUT_PHASES", Error, "transitions: {advances_to: done}";
    /// A limit outside its range: counts are whole numbers of 1 or more, `threshold` of 2 or more, costs and sleeps of
    /// 0 or more.
    InvalidLimit = "INVALID_LIMIT", Error, "max_steps: 0";
    /// `max_attempts` counts the first attempt too, so it is 1 or more.
    InvalidRetries = "INVALID_RETRIES", Error, "retries: {max_attempts: 0}";
    /// Every metric but `count` reads a value at `path`.
    AggregatePathRequired = "AGGREGATE_PATH_REQUIRED", Error, "{metric: sum, tool: pay}";
    /// An aggregate without `gte` or `lte` checks nothing.
    AggregateBoundRequired = "AGGREGATE_BOUND_REQUIRED", Error, "{metric: count, tool: pay}";
    /// A conditional bound states `gte`, `lte` or `equals` of the binding.
    WhenConditionRequired = "WHEN_CONDITION_REQUIRED", Error, "when: [{binding: b, then_lte: 1}]";
    /// A conditional bound states `then_gte` or `then_lte`.
    WhenOverrideRequired = "WHEN_OVERRIDE_REQUIRED", Error, "when: [{binding: b, gte: 1}]";
    /// An envelope relates at least two stages.
    EnvelopeMinStages = "ENVELOPE_MIN_STAGES", Error, "stages: [{tool: a, path: $.x, role: ceiling}]";
    /// The constraint needs a role that no stage has.
    EnvelopeMissingRole = "ENVELOPE_MISSING_ROLE", Error, "{constraint: bounded, stages: [floor, constrained]}";
    /// A role that the constraint does not use.
    EnvelopeRoleMismatch = "ENVELOPE_ROLE_MISMATCH", Error, "{constraint: lte_ceiling, stages: [anchor, constrained]}";
    /// A constrained value is judged before the call, so it cannot come from the output.
    EnvelopeOutputConstrained = "ENVELOPE_OUTPUT_CONSTRAINED", Error, "{role: constrained, source: output}";
    /// `within_band` needs `band`, a fraction of 0 or more.
    BandRequired = "BAND_REQUIRED", Error, "constraint: within_band";
    /// Only `within_band` has a band.
    BandNotAllowed = "BAND_NOT_ALLOWED", Error, "{constraint: lte_ceiling, band: 0.1}";
    /// Aggregates, envelopes and label gates give the reason that a refused agent sees.
    ReasonRequired = "REASON_REQUIRED", Error, "aggregates: [{name: n, metric: count, tool: t, lte: 1}]";
    /// A suppression says why, so that it can be removed when the reason is gone.
    SuppressionReasonRequired = "SUPPRESSION_REASON_REQUIRED", Error, "suppress: [{check: dead_tool}]";
    /// Two aggregates, envelopes, checkpoints or rules have the same name.
    DuplicateName = "DUPLICATE_NAME", Error, "aggregates: [{name: n, ...}, {name: n, ...}]";
    /// Nobody can decide in less than 30 seconds.
    CheckpointTimeoutTooShort = "CHECKPOINT_TIMEOUT_TOO_SHORT", Error, "timeout_seconds: 5";
    /// `when` is `always` or at least one condition.
    InvalidCheckpoint = "INVALID_CHECKPOINT", Error, "checkpoint: {when: []}";
    /// A rule is exactly one of `allow` and `deny`.
    InvalidPolicyRule = "INVALID_POLICY_RULE", Error, "rules: [{}]";
    /// A rule over the whole session is `every` with `after`, `at_most` with `of`, `every` with `then`, `never` with
    /// `with`, or `every` with `when_state`, and has the keys of that form only.
    InvalidRule = "INVALID_RULE", Error, "rules: [{id: r, every: refund}]";
    /// A question of `when_state` in which a value of the call has no safe place. Values are written as `{{ arguments.x }}`;
    /// in SQL they stand between single quotes or alone, and the statement has no comment and no backslash.
    InvalidTemplate = "INVALID_TEMPLATE", Error, "sql: select state from \"{{ arguments.table }}\"";
    /// The contracts have rules about the principal, and the session was opened without one.
    PolicyWithoutPrincipal = "POLICY_WITHOUT_PRINCIPAL", Error, "policy: {deny: [{principal: {path: $.role, equals: guest}}]}";
    /// The tool's executions pass no gateway, so its constraints could not be enforced.
    ExecutionConstraintsUnwrapped = "EXECUTION_CONSTRAINTS_UNWRAPPED", Error, "execution_constraints: {...}";
    /// Two roles of the workflow have the same name.
    DuplicateRole = "DUPLICATE_ROLE", Error, "roles: [{name: a, ...}, {name: a, ...}]";
    /// A handoff names a role that the workflow does not have.
    RoleUnknown = "UNKNOWN_ROLE", Error, "handoffs: [{from: a, to: nobody}]";
    /// No role's session declares a resource with this alias.
    UnknownResourceAlias = "UNKNOWN_RESOURCE_ALIAS", Error, "shared_resources: [{alias: ordr, ...}]";
    /// With one call a step, the threshold cannot be reached inside the window.
    LoopThresholdAboveWindow = "LOOP_THRESHOLD_ABOVE_WINDOW", Warning, "loop_detection: {window: 2, threshold: 3}";
    /// An unverifiable tool cannot acknowledge; it commits at dispatch. Say `commit_requirement: none`.
    UnverifiableAcknowledged = "UNVERIFIABLE_ACKNOWLEDGED", Warning, "{evidence_class: unverifiable}";
    /// A retried write can happen twice. It needs an idempotency key.
    RetryOnSideEffect = "RETRY_ON_SIDE_EFFECT", Warning, "{side_effect: write, retries: {max_attempts: 2, retry_on: [5xx]}}";
    /// Without `default_deny`, an allow rule that names no tools changes nothing.
    AllowRuleNoEffect = "ALLOW_RULE_NO_EFFECT", Warning, "rules: [{allow: {principal: {...}}}]";
    /// A tool without a contract is named here; the rule has no effect on the others.
    UnknownToolWarning = "UNKNOWN_TOOL", Warning, "forbids_after: [ghost]";
    /// No run can legally call this tool: it is blocked, its phases are unreachable, or a tool that it requires is
    /// dead.
    DeadTool = "dead_tool", Warning, "gate: block";
    /// Tools that require each other: none of them can be the first.
    PreconditionCycle = "precondition_cycle", Warning, "x requires y, y requires x";
    /// No tool that can be called leaves this phase.
    TrapPhase = "trap_phase", Warning, "phases: [..., {name: stuck}]";
    /// A declared edge that no tool performs.
    UnrealizedTransition = "unrealized_transition", Warning, "transitions: {a: [b]}";
    /// A terminal phase to which no transitions lead.
    UnreachableTerminal = "unreachable_terminal", Warning, "{name: cancelled, terminal: true}";
    /// The slot's binder is dead, or can only run in later phases than its consumer.
    RefBeforeBind = "ref_before_bind", Warning, "ref: approved";
    /// A reference of the envelope is dead, or can only be captured after the constrained call.
    EnvelopeUnreferenced = "envelope_unreferenced", Warning, "stages: [{tool: dead, role: ceiling}, ...]";
    /// A blocked tool is named as a prior tool, a binder or a reference.
    GateConflict = "gate_conflict", Warning, "requires_prior_tool: blocked_tool";
    /// No tool sets this label; only the API can.
    LabelNeverSet = "label_never_set", Warning, "when_label: mnpi";
    /// No handoff leads from the first role to this one.
    UnreachableRole = "unreachable_role", Warning, "roles: [..., {name: idle, ...}]";
    /// More sessions may be active than may ever be opened.
    ActiveAboveTotal = "ACTIVE_ABOVE_TOTAL", Warning, "{max_sessions: 2, max_active_sessions: 4}";
    /// The session was killed: by a circuit breaker, a person or a workflow. Killed is final.
    SessionKilled = "session_killed", Fail, "verdict: block";
    /// The session was asked to end; it may answer in text and call nothing more.
    SessionCancelRequested = "session_cancel_requested", Fail, "verdict: block";
    /// The arguments are not a JSON object.
    MalformedArguments = "malformed_arguments", Fail, "arguments: \"{bad json\"";
    /// The tool has no contract. `unmatched: allow` lets such tools pass.
    NoContract = "no_contract", Fail, "tool: ghost";
    /// The tool's `gate`, or the default of its side effect, blocks it.
    RiskGateBlocked = "risk_gate_blocked", Fail, "risk_defaults: {destructive: block}";
    /// The policy does not let this principal use the tool.
    PolicyDenied = "policy_denied", Fail, "deny: [{principal: {path: $.role, equals: guest}}]";
    /// A filter set from outside leaves this tool out.
    ManualFilter = "manual_filter", Fail, "filter: [search]";
    /// A budget of the session is used up: steps, cost, calls, or calls of this tool.
    SessionLimitExceeded = "session_limit_exceeded", Fail, "max_tool_calls: 50";
    /// The same call with the same arguments was repeated too often.
    LoopDetected = "loop_detected", Fail, "loop_detection: {window: 5, threshold: 3}";
    /// The tool is not valid in the session's current phase.
    WrongPhase = "wrong_phase", Fail, "valid_in_phases: [checked]";
    /// The tool would advance along an edge that is not declared.
    IllegalTransition = "illegal_transition", Fail, "advances_to: done";
    /// An earlier call of the same batch already advances to another phase.
    AmbiguousPhaseTransition = "ambiguous_phase_transition", Fail, "two calls of one batch advance to b and c";
    /// A tool that ran before forbids this one for the rest of the session.
    ForbiddenInState = "forbidden_in_state", Fail, "forbids_after: [trade]";
    /// A required earlier call is missing, or its output was not what is required.
    PreconditionNotMet = "precondition_not_met", Fail, "requires_prior_tool: check";
    /// An argument breaks an invariant of the tool, written by hand or derived from its schema.
    ArgumentInvariantFailed = "argument_invariant_failed", Fail, "{path: $.amount, lte: 100}";
    /// The arguments that are executed break an execution constraint.
    ExecutionConstraintFailed = "execution_constraint_failed", Fail, "{path: $.file_path, regex: \"^/tmp/\"}";
    /// The model's response does not have the form that the tool asks for.
    ResponseFormatInvalid = "response_format_invalid", Fail, "finish_reason: tool_calls";
    /// The model's request or response breaks an assertion of the tool.
    AssertionFailed = "assertion_failed", Fail, "{path: $.messages, length_gte: 1}";
    /// The request forced a tool call, and the response has none.
    ToolNotInvoked = "tool_not_invoked", Fail, "tool_calls_present: true";
    /// The request named a tool, and the response calls others only.
    WrongTool = "wrong_tool", Fail, "tool_choice: {name: search}";
    /// The slot has no value yet: the call that binds it was not made.
    RefUnbound = "ref_unbound", Fail, "ref: approved_shares";
    /// The argument is not the value that an earlier call bound.
    RefMismatch = "ref_mismatch", Fail, "ref: approved_shares";
    /// A label of the session denies the tool.
    LabelGateDenied = "label_gate_denied", Fail, "{when_label: mnpi, deny_tools: [trade]}";
    /// With this call, a session-wide figure would leave its bounds.
    AggregateViolated = "aggregate_violated", Fail, "{metric: sum, path: $.shares, lte: 100000}";
    /// The value that an aggregate adds up is missing or no number.
    AggregateInputInvalid = "aggregate_input_invalid", Fail, "{metric: sum, path: $.shares}";
    /// The value is outside what an earlier call allowed.
    EnvelopeViolated = "envelope_violated", Fail, "constraint: lte_ceiling";
    /// The call that sets the envelope's reference was not made yet.
    EnvelopeReferenceMissing = "envelope_reference_missing", Fail, "role: ceiling";
    /// The constrained value is missing or no number.
    EnvelopeInputInvalid = "envelope_input_invalid", Fail, "path: $.shares";
    /// A rule over the whole session is broken. The witness is the shortest list of calls that shows it.
    RuleViolated = "rule_violated", Fail, "{every: refund, after: get_order}";
    /// Another session has a call in flight on the same resource.
    ResourcePending = "resource_pending", Fail, "mode: exclusive_pending";
    /// Another session owns the resource.
    ResourceOwned = "resource_owned", Fail, "mode: single_writer";
    /// The resource was not free before the tool's time-out.
    ResourceWaitTimeout = "resource_wait_timeout", Fail, "mode: serial_only";
    /// Two sessions had calls in flight on one resource at the same time.
    ResourceOverlap = "resource_overlap", Fail, "mode: serial_only";
    /// A person has to approve the call.
    CheckpointRequired = "checkpoint_required", Warn, "checkpoint: {when: always}";
    /// The call was held, and not approved.
    CheckpointDenied = "checkpoint_denied", Fail, "decision: deny";
    /// The call was held, and nobody decided in time.
    CheckpointTimeout = "checkpoint_timeout", Fail, "timeout_seconds: 300";
    /// The call was approved, and the rules no longer allow it.
    ApprovedButInvalid = "approved_but_invalid", Fail, "approval: approve";
    /// The request combines options that the provider refuses or ignores.
    ProviderIncompatible = "provider_incompatible", Fail, "block_incompatible: [\"tool_choice.type=any + thinking\"]";
    /// A call that was blocked was executed all the same.
    BlockedCallExecuted = "blocked_call_executed", Fail, "verdict: block, then executed";
    /// The result that the agent reported differs from the one on the wire.
    ResultTampered = "result_tampered", Fail, "tool_result: \"paid\"";
    /// A call was executed that no model response proposed.
    UnproposedCall = "unproposed_call", Warn, "POST /refunds";
    /// A call was executed with other arguments than those proposed; the executed ones were judged.
    ArgumentDrift = "argument_drift", Warn, "proposed {n: 1}, executed {n: 2}";
    /// A result for a call that nobody proposed.
    OrphanResult = "orphan_result", Warn, "tool_call_id: zz";
    /// The tool's schema changed during the session; the first one stays.
    ToolSchemaChanged = "tool_schema_changed", Warn, "tools: [...]";
    /// The tool answered with an error that `allowed_errors` does not list.
    UnexpectedError = "unexpected_error", Warn, "status: 500";
    /// The call was repeated after an outcome that is not to be retried.
    RetryNotPermitted = "retry_not_permitted", Warn, "retry_on: [timeout]";
    /// The call was repeated more often than `max_attempts` allows.
    RetryBudgetExceeded = "retry_budget_exceeded", Warn, "max_attempts: 2";
    /// The call was repeated before the time that the service asked for.
    RetryAfterViolated = "retry_after_violated", Warn, "respect_retry_after: true";
    /// The call, its retries included, took longer than `total_ms`.
    CallTimeoutExceeded = "call_timeout_exceeded", Warn, "timeouts: {total_ms: 1000}";
    /// It cannot be told whether the call happened; it counts against later calls and never for them.
    CommitUncertain = "commit_uncertain", Info, "outcome: lost";
    /// The value to bind was not there; the slot keeps what it had.
    BindPathMissing = "bind_path_missing", Info, "binds: [{name: id, path: $.id}]";
    /// The model's name names no version, so its behaviour can change.
    FloatingModelAlias = "floating_model_alias", Info, "model: gpt-4o";
    /// Nobody decided in time, and the checkpoint lets the call pass then.
    CheckpointAutoAllowed = "checkpoint_auto_allowed", Info, "on_timeout: allow";
    /// A rule about the exchange with the model, or about the state of the world, could not be looked at, because it was
    /// not seen.
    NotEvaluable = "not_evaluable", Info, "assertions: {...}";
    /// A rule over the whole session was never triggered: no call came that it is about, so it proves nothing.
    RuleVacuous = "rule_vacuous", Info, "{every: refund, after: get_order}, and no refund";
    /// The session ended in a phase that is not terminal.
    SessionNotTerminal = "session_not_terminal", Fail, "final phase: triage";
    /// Our own evaluation failed. The call is blocked unless `on_error: allow`.
    EngineError = "engine_error", Fault, "a panic inside a rule";
    /// The log of a governed session says something else than the contracts come to now: they or this program changed.
    DecisionDivergence = "decision_divergence", Fault, "the log: allow, now: block";
    /// The workflow has no such role.
    UnknownRole = "unknown_role", Fail, "role: nobody";
    /// The workflow already has its root session.
    RootExists = "root_exists", Fail, "role: orchestrator";
    /// The session is not active, so it can neither hand over nor call tools.
    SessionNotActive = "session_not_active", Fail, "status: closed";
    /// The workflow declares no handoff between these roles.
    HandoffNotDeclared = "handoff_not_declared", Fail, "{from: worker, to: orchestrator}";
    /// A required artifact is not attached.
    HandoffArtifactMissing = "handoff_artifact_missing", Fail, "requires_artifacts: [summary]";
    /// The handoff was claimed or cancelled, or never offered.
    HandoffNotOpen = "handoff_not_open", Fail, "handoff: h1";
    /// The handoff is for another role.
    HandoffRoleMismatch = "handoff_role_mismatch", Fail, "role: orchestrator";
    /// A budget of the workflow is used up.
    WorkflowLimitExceeded = "workflow_limit_exceeded", Fail, "max_sessions: 8";
    /// The workflow was killed; nothing more starts in it.
    WorkflowKilled = "workflow_killed", Fail, "scope: workflow";
    /// The workflow does not let a session be killed with its descendants.
    KillScopeDisabled = "kill_scope_disabled", Fail, "subtree_kill: false";
    /// Only those named by `workflow_kill` may kill the workflow.
    KillNotPermitted = "kill_not_permitted", Fail, "workflow_kill: operator_only";
}
