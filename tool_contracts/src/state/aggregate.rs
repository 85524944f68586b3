//! The state of an aggregate: what committed, and what is in flight.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use crate::canonical::canonical;
use crate::read::aggregate::{Aggregate, Bounds, Metric};
use crate::value::Num;

/// The contribution of one call to an aggregate.
#[derive(Debug, Clone, Default)]
pub(crate) struct Contribution {
    numbers: Vec<Num>,
    distinct: Vec<String>,
}

/// The reason why a call cannot be added.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InvalidInput {
    pub(crate) found: Option<Json>,
}

/// The figures of all metrics, without the values that they came from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    count: u64,
    sum: Option<Num>,
    max: Option<Num>,
    min: Option<Num>,
}

/// The state of one aggregate.
#[derive(Debug, Clone, Default)]
pub(crate) struct AggregateState {
    committed: Tally,
    distinct: BTreeSet<String>,
    reserved: BTreeMap<String, Contribution>,
}

impl Contribution {
    /// Returns the contribution of a call; `None` when the aggregate is not about the tool.
    pub(crate) fn of(aggregate: &Aggregate, tool: &str, arguments: &Json) -> Result<Option<Self>, InvalidInput> {
        if !aggregate.is_about(tool) {
            return Ok(None);
        }
        let Some(path) = aggregate.path.as_ref().filter(|_| aggregate.metric != Metric::Count) else {
            return Ok(Some(Self { numbers: vec![Num::Int(1)], distinct: Vec::new() }));
        };
        let values = path.nodes(arguments);
        if values.is_empty() {
            return if aggregate.tools.is_none() { Ok(None) } else { Err(InvalidInput { found: None }) };
        }
        let mut contribution = Self::default();
        for value in values {
            if aggregate.metric == Metric::CountDistinct {
                contribution.distinct.push(canonical(value));
            } else {
                let number = Num::of(value).ok_or_else(|| InvalidInput { found: Some(value.clone()) })?;
                contribution.numbers.push(number);
            }
        }
        Ok(Some(contribution))
    }

    /// A contribution of one number.
    pub(crate) fn of_number(number: Num) -> Self {
        Self { numbers: vec![number], distinct: Vec::new() }
    }
}

impl Tally {
    fn add(&mut self, contribution: &Contribution) {
        for number in &contribution.numbers {
            self.count += 1;
            self.sum = Some(self.sum.map_or(*number, |sum| sum.plus(*number)));
            self.max = Some(self.max.filter(|max| number.at_most(*max)).unwrap_or(*number));
            self.min = Some(self.min.filter(|min| min.at_most(*number)).unwrap_or(*number));
        }
    }
}

impl AggregateState {
    /// The figure with what is in flight and `more`; `None` when there is nothing to take the extreme of.
    pub(crate) fn figure(&self, metric: Metric, more: &[Contribution]) -> Option<Num> {
        let added = self.reserved.values().chain(more);
        if metric == Metric::CountDistinct {
            let new: BTreeSet<&String> =
                added.flat_map(|one| &one.distinct).filter(|value| !self.distinct.contains(*value)).collect();
            return Some(Num::Int((self.distinct.len() + new.len()) as i128));
        }
        let mut tally = self.committed.clone();
        added.for_each(|contribution| tally.add(contribution));
        match metric {
            Metric::Sum => Some(tally.sum.unwrap_or(Num::Int(0))),
            Metric::Max => tally.max,
            Metric::Min => tally.min,
            Metric::Count | Metric::CountDistinct => Some(Num::Int(tally.count.into())),
        }
    }

    pub(crate) fn commit(&mut self, contribution: &Contribution) {
        self.committed.add(contribution);
        self.distinct.extend(contribution.distinct.iter().cloned());
    }

    pub(crate) fn reserve(&mut self, call: &str, contribution: Contribution) {
        self.reserved.insert(call.to_owned(), contribution);
    }

    pub(crate) fn release(&mut self, call: &str) {
        self.reserved.remove(call);
    }

    pub(crate) fn release_all(&mut self) {
        self.reserved.clear();
    }
}

impl Bounds {
    /// True when a figure is inside; sums of floats may be off by rounding.
    pub(crate) fn hold(&self, metric: Metric, figure: Num) -> bool {
        let at_most = |low: Num, high: Num| {
            if metric == Metric::Sum { low.at_most_nearly(high) } else { low.at_most(high) }
        };
        // The slack is that of the bound, on whichever side it stands.
        let at_least = |bound: Num| {
            if metric == Metric::Sum { figure.negated().at_most_nearly(bound.negated()) } else { bound.at_most(figure) }
        };
        self.lte.is_none_or(|bound| at_most(figure, bound)) && self.gte.is_none_or(at_least)
    }
}

/// The bounds that apply: the first conditional ones that hold replace what they name.
pub(crate) fn bounds(aggregate: &Aggregate, bindings: &BTreeMap<String, (Json, String)>) -> Bounds {
    let first =
        aggregate.when.iter().find(|when| bindings.get(&when.binding.name).is_some_and(|(value, _)| when.holds(value)));
    match first {
        Some(when) => {
            Bounds { gte: when.then.gte.or(aggregate.bounds.gte), lte: when.then.lte.or(aggregate.bounds.lte) }
        }
        None => aggregate.bounds,
    }
}
