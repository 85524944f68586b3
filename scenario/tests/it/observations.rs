//! Arbitrary evidence that fits a spec: answers of the kind that each probe asks for, with words that the checks look for.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use scenario::checks::Check;
use scenario::evidence::{
    AgentRecord, Answer, AuditEvent, Blob, Body, CallTrace, Captured, CommandAnswer, Datum, Evidence, Exchange, Exit,
    FileEntry, FileKind, Files, Fired, ImageRecord, Journal, JudgeAnswer, Leak, Limit, Overflow, OverflowCount, Probe,
    SnapshotRecord, SqlAnswer, ToolCall, ToolCallSource, Usage, WorkspaceChanges, World,
};
use scenario::number::Number;
use scenario::plan::{Scenario, Values};
use scenario::spec::Spec;
use scenario::spec::sections::ServiceKind;
use serde_json::{Value as Json, json};

/// The key of most redaction markers.
const MARKER_KEY: &str = "k1";

/// A scenario of a spec, and the words that its checks look for.
pub(crate) struct Subject {
    pub(crate) spec: Spec,
    pub(crate) scenario: Scenario,
    words: Vec<String>,
}

impl Subject {
    pub(crate) fn new(spec: Spec, scenario: Scenario) -> Self {
        let mut words = vec!["0".to_owned(), "/".to_owned()];
        collect(&serde_json::to_value(&spec.invariants).expect("JSON"), &mut words);
        for (name, value) in &scenario.parameters {
            let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
            words.iter_mut().for_each(|word| *word = word.replace(&format!("{{{{ params.{name} }}}}"), &text));
        }
        for word in words.iter_mut().filter(|word| word.contains("{{ secrets.")) {
            *word = word.replace("{{ secrets.", "[redacted:").replace(" }}", &format!(":{MARKER_KEY}]"));
        }
        Self { spec, scenario, words }
    }

    /// Evidence of this scenario.
    pub(crate) fn evidence(&self) -> BoxedStrategy<Evidence> {
        let key = prop_oneof![4 => Just(MARKER_KEY.to_owned()), 1 => "[a-z0-9]{0,8}"];
        let observed = (world(), self.agent(), option::weighted(0.9, key), self.answers(), self.journals());
        let doings = (
            option::weighted(0.8, vec(self.event(), 0..3)),
            rarely(vec(self.leak(), 1..3)),
            rarely(vec(self.fired(), 1..3)),
            rarely(vec(self.text(), 1..3)),
            vec(self.text(), 0..3),
        );
        let counted = (usage(), self.changes(), rarely(vec(self.tool_call(), 1..4)), vec(self.text(), 0..2));
        let whole = |((world, agent, marker_key, answers, journals), doings, counted)| {
            let (audit, leaks, limits, offences, image_changes): (Option<Vec<AuditEvent>>, _, _, _, _) = doings;
            let audit = audit.map(|events| events.into_iter().map(Into::into).collect());
            let (usage, workspace, calls, notes) = counted;
            Evidence {
                world,
                agent,
                marker_key,
                answers,
                journals,
                audit,
                leaks,
                limits,
                offences,
                image_changes,
                usage,
                workspace,
                call_trace: CallTrace(calls),
                notes,
                ..Evidence::default()
            }
        };
        (observed, doings, counted).prop_map(whole).boxed()
    }

    fn answers(&self) -> BoxedStrategy<std::collections::BTreeMap<String, Vec<Answer>>> {
        let nothing = Evidence::default();
        let values = Values::for_judging(&self.spec, &self.scenario, &nothing);
        let of_each = self.spec.invariants.iter().map(|(name, invariant)| {
            let mut answers: Vec<_> =
                invariant.check.probes(&values).iter().map(|probe| self.some_answer(self.answer(probe))).collect();
            if let Check::LlmAsJudge(_) = invariant.check {
                answers.push(self.some_answer(self.rating().boxed()));
            }
            let answers = prop_oneof![15 => answers, 1 => Just(Vec::new())];
            answers.prop_map({
                let name = name.to_string();
                move |answers| (name.clone(), answers)
            })
        });
        of_each.collect::<Vec<_>>().prop_map(|answers| answers.into_iter().collect()).boxed()
    }

    /// Mostly an answer of the right kind.
    fn some_answer(&self, right: BoxedStrategy<Answer>) -> BoxedStrategy<Answer> {
        let broken =
            (self.text(), option::of(limit())).prop_map(|(reason, limit)| Answer::Unavailable { reason, limit });
        prop_oneof![12 => right, 1 => broken, 1 => self.sql()].boxed()
    }

    fn answer(&self, probe: &Probe) -> BoxedStrategy<Answer> {
        match probe {
            Probe::Command { .. } => self.command(self.captured()),
            Probe::Script { .. } => self.command(prop_oneof![9 => self.script_result(), 1 => self.captured()].boxed()),
            Probe::Files { path, .. } => self.files(path),
            Probe::Sql { .. } => self.sql().boxed(),
        }
    }

    fn command(&self, stdout: BoxedStrategy<Captured>) -> BoxedStrategy<Answer> {
        (option::weighted(0.9, exit()), stdout, self.captured(), rarely(vec(self.text(), 1..3)))
            .prop_map(|(exit, stdout, stderr, image_changes)| {
                Answer::Command(CommandAnswer { exit, stdout, stderr, image_changes })
            })
            .boxed()
    }

    fn script_result(&self) -> BoxedStrategy<Captured> {
        let score = prop_oneof![4 => Just(Json::from(1)), 4 => (0.0..=1.0).prop_map(|score: f64| json!(score)), 1 => json_value()];
        (any::<bool>(), score, self.text(), json_value())
            .prop_map(|(passed, score, reason, details)| {
                let result = json!({"passed": passed, "score": score, "reason": reason, "details": details});
                Captured::from(result.to_string().as_str())
            })
            .boxed()
    }

    fn rating(&self) -> impl Strategy<Value = Answer> + use<> {
        let score = prop_oneof![Just(1.0), 0.0..=1.0, -10.0..200.0f64, prop::num::f64::NORMAL];
        let rated =
            (score, self.text()).prop_map(|(score, reason)| Ok(json!({"score": score, "reason": reason}).to_string()));
        let reply = prop_oneof![8 => rated, 1 => self.text().prop_map(Ok), 1 => self.text().prop_map(Err)];
        (reply, usage(), any::<bool>()).prop_map(|(reply, usage, cached)| {
            Answer::Judge(JudgeAnswer { reply, usage, cached, ..JudgeAnswer::default() })
        })
    }

    fn files(&self, path: &str) -> BoxedStrategy<Answer> {
        let kind = prop_oneof![
            8 => Just(FileKind::File),
            1 => select(vec![FileKind::Directory, FileKind::BrokenLink, FileKind::Other])
        ];
        let facts = (option::of("[0-9a-f]{64}"), option::weighted(0.9, self.blob()), rarely_some(self.text()));
        let path = prop_oneof![4 => Just(path.to_owned()), 1 => self.text()];
        let entry = (path, kind, option::of(any::<u64>()), facts).prop_map(|(path, kind, size, facts)| {
            let (sha256, content, problem) = facts;
            let size = size.unwrap_or_else(|| content.as_ref().map_or(0, |content: &Blob| content.0.len() as u64));
            FileEntry { path, kind, size, sha256, content, problem }
        });
        (vec(entry, 0..3), prop::bool::weighted(0.1))
            .prop_map(|(entries, incomplete)| Answer::Files(Files { entries, incomplete }))
            .boxed()
    }

    fn sql(&self) -> impl Strategy<Value = Answer> + use<> {
        let number = prop_oneof![self.text(), any::<f64>().prop_map(|number| number.to_string()), decimal()];
        let number = number.prop_map(|text| Number::parse(&text).map_or(Datum::Text(text), Datum::Number));
        let value = prop_oneof![
            1 => Just(Datum::Null),
            2 => any::<bool>().prop_map(Datum::Bool),
            8 => number,
            2 => self.text().prop_map(Datum::Text),
            1 => json_value().prop_map(Datum::Json)
        ];
        let answer = prop_oneof![
            8 => value.prop_map(SqlAnswer::Value),
            1 => Just(SqlAnswer::NoRow),
            1 => self.text().prop_map(SqlAnswer::Refused)
        ];
        answer.prop_map(Answer::Sql)
    }

    fn journals(&self) -> BoxedStrategy<std::collections::BTreeMap<String, Journal>> {
        let mocks = self.spec.services.iter().filter(|service| matches!(service.kind, ServiceKind::HttpMock(_)));
        let journals = mocks.map(|mock| {
            let journal = (vec(self.exchange(), 0..4), rarely_some(self.overflow()))
                .prop_map(|(exchanges, overflow)| Journal { exchanges, overflow });
            option::weighted(0.95, (Just(mock.name().to_string()), journal))
        });
        journals.collect::<Vec<_>>().prop_map(|journals| journals.into_iter().flatten().collect()).boxed()
    }

    fn exchange(&self) -> BoxedStrategy<Exchange> {
        let method = prop_oneof![4 => select(vec!["GET".to_owned(), "POST".to_owned()]), 1 => self.text()];
        let kinds = vec!["application/json", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];
        let content_type = select(kinds).prop_map(|kind| ("content-type".to_owned(), kind.to_owned()));
        let pairs = || vec((self.text(), self.text()), 0..3);
        let headers = (option::of(content_type), pairs())
            .prop_map(|(content_type, pairs)| content_type.into_iter().chain(pairs).collect());
        let body = prop_oneof![
            6 => self.body().prop_map(Body::Kept),
            1 => (self.body(), any::<u64>(), "[0-9a-f]{64}").prop_map(|(kept, size, sha256)| Body::Cut { kept, size, sha256 }),
            1 => any::<u64>().prop_map(|size| Body::Dropped { size })
        ];
        (method, self.text(), pairs(), headers, body, any::<u16>(), any::<u64>())
            .prop_map(|(method, path, query, headers, body, status, at_ms)| Exchange {
                method,
                path,
                query,
                headers,
                body,
                status,
                at_ms,
                fault: None,
                answer: None,
            })
            .boxed()
    }

    fn body(&self) -> impl Strategy<Value = Blob> + use<> {
        let object = btree_map(self.text(), prop_oneof![self.text().prop_map(Json::from), json_value()], 0..4);
        prop_oneof![object.prop_map(|object| Blob::from(json!(object).to_string().as_str())), self.blob()]
    }

    fn overflow(&self) -> impl Strategy<Value = Overflow> + use<> {
        let counted = (self.text(), option::of(self.text()), any::<u64>())
            .prop_map(|(method, path, count)| OverflowCount { method, path, count });
        vec(counted, 0..3).prop_map(|counts| Overflow { counts })
    }

    fn agent(&self) -> impl Strategy<Value = AgentRecord> + use<> {
        (option::of(exit()), self.captured(), self.captured(), any::<u64>()).prop_map(
            |(exit, stdout, stderr, wall_ms)| AgentRecord { exit, stdout, stderr, wall_ms, ..AgentRecord::default() },
        )
    }

    fn event(&self) -> BoxedStrategy<AuditEvent> {
        let text = || self.text();
        prop_oneof![
            (text(), text(), text(), any::<u64>()).prop_map(|(service, table, op, rows)| AuditEvent::DbWrite {
                service,
                table,
                op,
                rows
            }),
            (option::of(text()), text(), text(), text(), option::of(any::<u16>()), option::of(text())).prop_map(
                |(service, host, method, path, status, response_body)| {
                    AuditEvent::HttpCall { service, host, method, path, status, response_body }
                }
            ),
            (text(), text()).prop_map(|(path, op)| AuditEvent::FileWrite { path, op }),
            (text(), option::of(any::<i32>()))
                .prop_map(|(command, exit_code)| AuditEvent::Command { command, exit_code }),
        ]
        .boxed()
    }

    fn tool_call(&self) -> impl Strategy<Value = ToolCall> + use<> {
        let source = select(vec![ToolCallSource::Proposed, ToolCallSource::Executed, ToolCallSource::Reported]);
        let numbers = (any::<u64>(), any::<u64>(), option::of(any::<usize>()), option::of(any::<u64>()));
        let texts = (option::of(self.text()), self.text(), option::of(self.text()), option::of(self.text()));
        (numbers, texts, source, json_value(), any::<bool>()).prop_map(
            |(numbers, texts, source, arguments, is_error)| {
                let (seq, at_ms, model_call, proposal) = numbers;
                let (id, tool, written, result) = texts;
                ToolCall {
                    seq,
                    at_ms,
                    id,
                    tool,
                    source,
                    arguments,
                    written,
                    model_call,
                    proposal,
                    result,
                    is_error,
                    execution: None,
                }
            },
        )
    }

    fn leak(&self) -> impl Strategy<Value = Leak> + use<> {
        (self.text(), self.text(), any::<u64>()).prop_map(|(secret, place, count)| Leak { secret, place, count })
    }

    fn fired(&self) -> impl Strategy<Value = Fired> + use<> {
        (limit(), self.text()).prop_map(|(limit, detail)| Fired { limit, detail })
    }

    fn changes(&self) -> impl Strategy<Value = WorkspaceChanges> + use<> {
        let paths = || vec(self.text(), 0..2);
        (paths(), paths(), paths(), any::<bool>()).prop_map(|(added, removed, modified, incomplete)| WorkspaceChanges {
            added,
            removed,
            modified,
            incomplete,
        })
    }

    fn captured(&self) -> BoxedStrategy<Captured> {
        (self.text(), rarely_some(self.text()), rarely_some(any::<u64>()))
            .prop_map(|(head, tail, dropped)| Captured { head, tail, dropped_bytes: dropped.unwrap_or(0) })
            .boxed()
    }

    fn blob(&self) -> BoxedStrategy<Blob> {
        prop_oneof![4 => self.text().prop_map(|text| Blob::from(text.as_str())), 1 => vec(any::<u8>(), 0..40).prop_map(Blob)]
            .boxed()
    }

    /// A word that a check looks for, all of them, or anything.
    fn text(&self) -> BoxedStrategy<String> {
        let word = select(self.words.clone());
        let all = self.words.join("\n");
        prop_oneof![6 => word, 1 => Just(all), 1 => "\\PC{0,20}", 1 => "(?s).{0,10}", 1 => Just(String::new())].boxed()
    }
}

/// Every text and number of a value.
fn collect(value: &Json, words: &mut Vec<String>) {
    match value {
        Json::String(text) => words.push(text.clone()),
        Json::Number(number) => words.push(number.to_string()),
        Json::Array(items) => items.iter().for_each(|item| collect(item, words)),
        Json::Object(fields) => fields.iter().for_each(|(name, field)| {
            words.push(name.clone());
            collect(field, words);
        }),
        Json::Null | Json::Bool(_) => {}
    }
}

fn rarely<T: Clone + std::fmt::Debug + 'static>(
    some: impl Strategy<Value = Vec<T>> + 'static,
) -> BoxedStrategy<Vec<T>> {
    prop_oneof![9 => Just(Vec::new()), 1 => some].boxed()
}

fn rarely_some<T: std::fmt::Debug>(some: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    option::weighted(0.1, some)
}

fn exit() -> impl Strategy<Value = Exit> {
    prop_oneof![6 => Just(Exit::Code(0)), 2 => (0..256).prop_map(Exit::Code), 1 => any::<i32>().prop_map(Exit::Code), 1 => any::<i32>().prop_map(Exit::Signal)]
}

fn limit() -> impl Strategy<Value = Limit> {
    select(vec![
        Limit::AgentTimeout,
        Limit::Timeout,
        Limit::Memory,
        Limit::Pids,
        Limit::Disk,
        Limit::Output,
        Limit::Requests,
        Limit::FileBytes,
        Limit::CheckTimeout,
    ])
}

/// A decimal with more digits than a float has.
fn decimal() -> impl Strategy<Value = String> {
    "-?[0-9]{1,25}(\\.[0-9]{1,20})?(e-?[0-9]{1,3})?"
}

fn json_value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        prop::num::f64::ANY.prop_map(Json::from),
        "\\PC{0,8}".prop_map(Json::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        let fields = vec(("[a-z]{0,3}", inner.clone()), 0..3);
        prop_oneof![vec(inner, 0..3).prop_map(Json::from), fields.prop_map(Json::from_iter)]
    })
}

fn usage() -> impl Strategy<Value = Usage> {
    (any::<[u64; 4]>(), "[a-z-]{0,8}", option::of(prop::num::f64::ANY)).prop_map(|(counts, model, cost_usd)| Usage {
        calls: counts[0],
        input_tokens: counts[1],
        output_tokens: counts[2],
        cache_read_tokens: counts[3],
        model,
        cost_usd,
    })
}

fn world() -> impl Strategy<Value = World> {
    let image = ("\\PC{0,8}", "\\PC{0,8}", "[0-9a-f]{0,8}").prop_map(|(reference, name, digest)| ImageRecord {
        reference,
        name,
        digest,
    });
    let snapshot = ("[a-z]{0,4}", "\\PC{0,8}", any::<i64>(), "[0-9a-f]{0,8}")
        .prop_map(|(id, name, version, digest)| SnapshotRecord { id, name, version, digest });
    ("\\PC{0,8}", "docker|local", "runc|", vec(image, 0..2), option::of(snapshot))
        .prop_map(|(sandbox, backend, runtime, images, snapshot)| World { sandbox, backend, runtime, images, snapshot })
}
