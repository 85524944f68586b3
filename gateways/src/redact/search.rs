//! Finds every form of every value at once.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use scenario::evidence::SecretForm;

use super::unwrapped::Unwrapped;

/// A form that is shorter than this is not looked for across lines, where it would be found by chance.
const SHORTEST_WRAPPED: usize = 8;
/// Number of bytes at an end that may be the beginning of a line break or of an escape that stands for one.
const BREAK_AT_END: usize = 8;

/// Every form of every value, and how to find them all at once.
#[derive(Default)]
pub(super) struct Hidden {
    pub(super) forms: Vec<Form>,
    /// `None` when there is nothing to look for, or too much.
    search: Option<AhoCorasick>,
    /// The same for forms that are looked for across lines, with the index of each; made when it is first needed.
    wrapped: OnceLock<Option<(AhoCorasick, Vec<usize>)>>,
    pub(super) longest: usize,
}

/// A form of a value, and the marker that replaces it.
#[derive(Clone)]
pub(super) struct Form {
    pub(super) name: String,
    pub(super) value: Vec<u8>,
    pub(super) form: SecretForm,
    pub(super) marker: Vec<u8>,
    /// The marker where only the case of letters is another.
    pub(super) folded: Vec<u8>,
    /// The marker where there are line breaks in it.
    pub(super) wrapped: Vec<u8>,
}

/// A value that was found.
pub(super) struct SecretMatch<'a> {
    pub(super) range: Range<usize>,
    pub(super) name: &'a str,
    pub(super) marker: &'a [u8],
    /// Index of its form.
    pub(super) index: usize,
}

impl Hidden {
    pub(super) fn new(forms: Vec<Form>) -> Self {
        let longest = forms.iter().map(|form| form.value.len()).max().unwrap_or(0);
        let search = build(forms.iter());
        Self { forms, search, longest, ..Self::default() }
    }

    fn wrapped(&self) -> Option<&(AhoCorasick, Vec<usize>)> {
        let make = || {
            let long = |form: &Form| form.value.len() >= SHORTEST_WRAPPED;
            let chosen: Vec<_> = (0..self.forms.len()).filter(|index| long(&self.forms[*index])).collect();
            let search = build(chosen.iter().map(|index| &self.forms[*index]))?;
            Some((search, chosen))
        };
        self.wrapped.get_or_init(make).as_ref()
    }

    /// Counts the bytes at the end that may be the first part of a value.
    pub(super) fn cut_at_end(&self, bytes: &[u8]) -> usize {
        let exact = self.part_at_end(bytes, 0);
        // A part of a value that is broken into lines may be longer than the value.
        let across = Unwrapped::of(bytes).map_or(0, |unwrapped| {
            let part = self.part_at_end(&unwrapped.text, SHORTEST_WRAPPED);
            if part == 0 { 0 } else { bytes.len() - unwrapped.raw_start(unwrapped.text.len() - part) }
        });
        exact.max(across)
    }

    fn part_at_end(&self, bytes: &[u8], shortest: usize) -> usize {
        let part = |form: &Form| (1..form.value.len()).rev().find(|length| bytes.ends_with(&form.value[..*length]));
        let forms = self.forms.iter().filter(|form| form.value.len() >= shortest);
        forms.filter_map(part).max().unwrap_or(0)
    }
}

fn build<'a>(forms: impl Iterator<Item = &'a Form>) -> Option<AhoCorasick> {
    let values: Vec<_> = forms.map(|form| &form.value).collect();
    if values.is_empty() {
        return None;
    }
    // A value may be a part of another: of those that begin at one place, the longest is meant.
    let mut builder = AhoCorasick::builder();
    // A table of all states would be large for a long value.
    builder.match_kind(MatchKind::LeftmostLongest).kind(Some(AhoCorasickKind::ContiguousNFA));
    builder.build(values).ok()
}

/// A text in which values are looked for, as it is and across its lines.
pub(super) struct Text<'a> {
    hidden: &'a Hidden,
    bytes: &'a [u8],
    unwrapped: Option<Unwrapped>,
    exact: Option<Next>,
    across: Option<Next>,
}

/// The last match: it stays true until its beginning is passed.
#[derive(Clone)]
enum Next {
    Nothing,
    At(Range<usize>, usize),
}

impl Next {
    fn is_after(&self, from: usize) -> bool {
        match self {
            Self::Nothing => true,
            Self::At(range, _) => range.start >= from,
        }
    }
}

impl<'a> Text<'a> {
    pub(super) fn new(hidden: &'a Hidden, bytes: &'a [u8]) -> Self {
        let unwrapped = if hidden.longest < SHORTEST_WRAPPED { None } else { Unwrapped::of(bytes) };
        Self { hidden, bytes, unwrapped, exact: None, across: None }
    }

    /// Returns the first byte at which a value may begin that ends after the text.
    pub(super) fn settled(&self) -> usize {
        let longest = self.hidden.longest.saturating_sub(1);
        let exact = self.bytes.len().saturating_sub(longest);
        if self.hidden.longest < SHORTEST_WRAPPED {
            return exact;
        }
        match &self.unwrapped {
            Some(unwrapped) => {
                let held = longest + BREAK_AT_END;
                exact.min(unwrapped.raw_start(unwrapped.text.len().saturating_sub(held)))
            }
            None => exact.saturating_sub(BREAK_AT_END),
        }
    }

    /// The value that stands first from here on; of those at one place, the longest.
    pub(super) fn next_from(&mut self, from: usize) -> Option<SecretMatch<'a>> {
        if self.hidden.search.is_none() {
            return self.everything(from);
        }
        let exact = self.next_exact(from);
        let across = self.next_across(from);
        let (range, index, wrapped) = match (exact, across) {
            (Next::Nothing, Next::Nothing) => return None,
            (Next::At(range, index), Next::Nothing) => (range, index, false),
            (Next::Nothing, Next::At(range, index)) => (range, index, true),
            (Next::At(exact, index), Next::At(across, other)) => {
                let is_first = (exact.start, across.end) <= (across.start, exact.end);
                if is_first { (exact, index, false) } else { (across, other, true) }
            }
        };
        let form = self.hidden.forms.get(index)?;
        let marker = if wrapped { &form.wrapped } else { &form.marker };
        Some(SecretMatch { range, name: &form.name, marker, index })
    }

    fn next_exact(&mut self, from: usize) -> Next {
        if let Some(known) = self.exact.clone().filter(|next| next.is_after(from)) {
            return known;
        }
        let found = self.hidden.search.as_ref().and_then(|search| search.find(Input::new(self.bytes).range(from..)));
        let next = found.map_or(Next::Nothing, |found| Next::At(found.range(), found.pattern().as_usize()));
        self.exact.insert(next).clone()
    }

    fn next_across(&mut self, from: usize) -> Next {
        if let Some(known) = self.across.clone().filter(|next| next.is_after(from)) {
            return known;
        }
        let next = self.find_across(from).map_or(Next::Nothing, |(range, index)| Next::At(range, index));
        self.across.insert(next).clone()
    }

    /// The next value with a line break in it.
    fn find_across(&self, from: usize) -> Option<(Range<usize>, usize)> {
        let unwrapped = self.unwrapped.as_ref()?;
        let (search, chosen) = self.hidden.wrapped()?;
        let mut at = unwrapped.position(from);
        while let Some(found) = search.find(Input::new(&unwrapped.text).range(at..)) {
            let range = unwrapped.raw_start(found.start())..unwrapped.raw_end(found.end());
            if range.len() > found.len() {
                return Some((range, *chosen.get(found.pattern().as_usize())?));
            }
            at = found.end();
        }
        None
    }

    /// Should the values be too long to be looked for, then nothing is kept at all.
    fn everything(&self, from: usize) -> Option<SecretMatch<'a>> {
        let form = self.hidden.forms.first()?;
        (from < self.bytes.len()).then_some(SecretMatch {
            range: from..self.bytes.len(),
            name: &form.name,
            marker: &form.marker,
            index: 0,
        })
    }
}
