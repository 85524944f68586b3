//! The calls that were made beside a list of expected ones.

use super::found::{FoundCall, Reading};
use super::{Expected, MatchMode, Problem};
use crate::count_noun;
use crate::spec::template::Bindings;
use crate::spec::types::{CalledTool, JsonPath, Table};

/// A call that is expected.
pub(super) struct Wanted<'a> {
    /// The tool.
    pub(super) tool: &'a CalledTool,
    /// The arguments; `None` when any will do.
    pub(super) arguments: Option<&'a Table<JsonPath, Expected>>,
}

/// Two lists of calls, and which of them fit together.
struct Lists<'a> {
    wanted: &'a [Wanted<'a>],
    found: &'a [FoundCall<'a>],
    /// The places of found calls that fit each wanted one.
    fitting: Vec<Vec<usize>>,
}

/// Finds the first difference between the calls that are wanted and those that were found.
pub(super) fn compare(
    mode: MatchMode,
    wanted: &[Wanted<'_>],
    found: &[FoundCall<'_>],
    bindings: &dyn Bindings,
) -> Result<(), Problem> {
    if mode == MatchMode::Strict {
        return compare_in_order(wanted, found, bindings);
    }
    let lists = Lists { wanted, found, fitting: fitting(wanted, found, bindings)? };
    let partners = lists.pair_up();
    if mode != MatchMode::Subset
        && let Some(missing) = partners.iter().position(Option::is_none)
    {
        return Err(lists.missing(missing, bindings)?);
    }
    let is_extra = |place: &usize| !partners.contains(&Some(*place));
    match (0..found.len()).find(is_extra).filter(|_| mode != MatchMode::Superset) {
        Some(extra) => Err(lists.extra(extra, bindings)?),
        None => Ok(()),
    }
}

/// Compares the two lists step by step.
fn compare_in_order(wanted: &[Wanted<'_>], found: &[FoundCall<'_>], bindings: &dyn Bindings) -> Result<(), Problem> {
    for step in 0..wanted.len().max(found.len()) {
        let number = step + 1;
        match (wanted.get(step), found.get(step)) {
            (Some(wanted), Some(found)) if wanted.tool.as_str() == found.tool => {
                if let Some(difference) = wanted.difference(found, bindings)? {
                    return Err(Problem::at(number, format!("step {number} `{}`: {difference}", wanted.tool)));
                }
            }
            (Some(wanted), Some(found)) => {
                let message = format!("expected step {number} `{}`, found `{}`", wanted.tool, found.shown());
                return Err(Problem::at(number, message));
            }
            (Some(wanted), None) => {
                let message = format!("expected step {number} `{}`, found no more calls", wanted.tool);
                return Err(Problem::at(number, message));
            }
            (None, Some(found)) => {
                let message = match step {
                    0 => format!("expected no call, found `{}`", found.shown()),
                    _ => format!("expected {}, found one more: `{}`", count_noun(step, "call"), found.shown()),
                };
                return Err(Problem::at(number, message));
            }
            (None, None) => {}
        }
    }
    Ok(())
}

/// The found calls that fit each wanted one.
fn fitting(
    wanted: &[Wanted<'_>],
    found: &[FoundCall<'_>],
    bindings: &dyn Bindings,
) -> Result<Vec<Vec<usize>>, Problem> {
    let fits = |wanted: &Wanted<'_>, place: usize| {
        let found = &found[place];
        Ok::<_, Problem>(wanted.tool.as_str() == found.tool && wanted.difference(found, bindings)?.is_none())
    };
    let places = |wanted: &Wanted<'_>| {
        let mut places = Vec::new();
        for place in 0..found.len() {
            if fits(wanted, place)? {
                places.push(place);
            }
        }
        Ok(places)
    };
    wanted.iter().map(places).collect()
}

impl<'a> Wanted<'a> {
    /// Any call of a tool.
    pub(super) fn of_tool(tool: &'a CalledTool) -> Self {
        Self { tool, arguments: None }
    }

    /// The first difference between the arguments that are wanted and those of a call of the tool.
    fn difference(&self, found: &FoundCall<'_>, bindings: &dyn Bindings) -> Result<Option<String>, Problem> {
        let Some(arguments) = self.arguments else { return Ok(None) };
        Ok(match found.read(arguments, bindings)? {
            Reading::Matches => None,
            Reading::Differs(difference) => Some(difference),
            Reading::Unreadable => Some("its arguments cannot be read".to_owned()),
        })
    }
}

impl Lists<'_> {
    /// The found call that each wanted one is paired with: as many pairs as possible, and the first ones first.
    fn pair_up(&self) -> Vec<Option<usize>> {
        let mut owners = vec![None; self.found.len()];
        for wanted in 0..self.wanted.len() {
            let mut tried = vec![false; self.found.len()];
            self.find_partner(wanted, &mut owners, &mut tried);
        }
        let partner = |wanted| owners.iter().position(|owner| *owner == Some(wanted));
        (0..self.wanted.len()).map(partner).collect()
    }

    /// Pairs a wanted call with a found one, if need be by giving the one that has it another.
    fn find_partner(&self, wanted: usize, owners: &mut [Option<usize>], tried: &mut [bool]) -> bool {
        for &place in &self.fitting[wanted] {
            if std::mem::replace(&mut tried[place], true) {
                continue;
            }
            if owners[place].is_none_or(|owner| self.find_partner(owner, owners, tried)) {
                owners[place] = Some(wanted);
                return true;
            }
        }
        false
    }

    /// The difference that a wanted call without a partner makes.
    fn missing(&self, missing: usize, bindings: &dyn Bindings) -> Result<Problem, Problem> {
        let wanted = &self.wanted[missing];
        let tool = wanted.tool;
        let of_tool: Vec<_> = self.found.iter().filter(|found| found.tool == tool.as_str()).collect();
        let times = self.wanted.iter().filter(|other| other.tool == tool).count();
        Ok(Problem::found(match of_tool.as_slice() {
            [] => format!("expected a call of `{tool}`, found none"),
            few if few.len() < times => {
                format!("expected {} of `{tool}`, found {}", count_noun(times, "call"), few.len())
            }
            [others @ .., last] => {
                let mut differences = others.iter().chain([last]).map(|found| wanted.difference(found, bindings));
                let difference = differences.find_map(Result::transpose).transpose()?;
                let difference = difference.unwrap_or_else(|| "all that fit are taken by other entries".to_owned());
                format!("expected a call of `{tool}` (entry {} of the list), and none fits: {difference}", missing + 1)
            }
        }))
    }

    /// The difference that a found call without a partner makes.
    fn extra(&self, extra: usize, bindings: &dyn Bindings) -> Result<Problem, Problem> {
        let (found, number) = (&self.found[extra], extra + 1);
        let of_tool: Vec<_> = self.wanted.iter().filter(|wanted| wanted.tool.as_str() == found.tool).collect();
        let times = self.found.iter().filter(|other| other.tool == found.tool).count();
        let tool = found.shown();
        let message = match of_tool.as_slice() {
            [] => format!("expected no call of `{tool}`, found one: call {number}"),
            few if few.len() < times => {
                format!("expected at most {} of `{tool}`, found {times}", count_noun(few.len(), "call"))
            }
            some => {
                let difference = some.iter().find_map(|wanted| wanted.difference(found, bindings).transpose());
                let difference = difference.transpose()?.unwrap_or_else(|| "another call took its place".to_owned());
                format!("call {number} `{tool}` is none of those that are expected: {difference}")
            }
        };
        Ok(Problem::at(number, message))
    }
}
