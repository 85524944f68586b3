//! `ETag`s of a run's results.

use http::header::IF_NONE_MATCH;
use http::{HeaderMap, HeaderValue};
use store::{Run, RunState};

use super::Form;

/// A state of an experiment's results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    /// Which run; 0 before the first.
    run: u32,
    /// The number of its scenarios that have ended.
    ended: u64,
    state: Option<RunState>,
}

impl Tag {
    /// The tag of a run; of no run before the first.
    pub(crate) fn of(run: Option<&Run>) -> Self {
        run.map_or(Self { run: 0, ended: 0, state: None }, |run| Self {
            run: run.id.number,
            ended: run.ended,
            state: Some(run.state),
        })
    }

    /// Returns the number of scenarios of the run that have ended.
    pub(super) fn ended(self) -> u64 {
        self.ended
    }

    /// True when the run can still change.
    pub(crate) fn is_open(self) -> bool {
        matches!(self.state, None | Some(RunState::Open))
    }

    /// The ETag of results in a form. It is a weak one: a body may be a little newer than its tag.
    pub(crate) fn header(self, form: Form) -> HeaderValue {
        HeaderValue::from_str(&self.text(form)).unwrap_or_else(|_| HeaderValue::from_static("W/\"\""))
    }

    /// True when the caller has these results already.
    pub(crate) fn is_known(self, form: Form, headers: &HeaderMap) -> bool {
        let own = self.text(form);
        let opaque = own.trim_start_matches("W/");
        let values = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        let mut tags = values.flat_map(|value| value.split(',')).map(str::trim);
        tags.any(|tag| tag == "*" || tag.trim_start_matches("W/") == opaque)
    }

    fn text(self, form: Form) -> String {
        let state = self.state.map_or("created", RunState::word);
        format!("W/\"{}-{}-{state}-{}\"", self.run, self.ended, form.letter())
    }
}
