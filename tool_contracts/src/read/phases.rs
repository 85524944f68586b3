//! Phases of a session, and the transitions between them.

use std::collections::{BTreeMap, BTreeSet};

use yaml_tree::Kind;

use crate::code::Code;
use crate::reader::{At, Named, Reader};

/// The phases of a session; none when it declares none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Phases {
    pub(crate) list: Vec<Phase>,
    /// The declared edges, with their places.
    pub(crate) transitions: BTreeMap<String, Vec<Named>>,
    /// True when `phases` could not be read, so that nothing is said about names of phases.
    pub(crate) is_broken: bool,
    /// The phases that transitions lead to from the initial one, itself included.
    pub(crate) reachable: BTreeSet<String>,
}

/// One phase.
#[derive(Debug, Clone)]
pub(crate) struct Phase {
    pub(crate) name: Named,
    pub(crate) is_initial: bool,
    pub(crate) is_terminal: bool,
}

impl Phases {
    /// Reads `phases` and `transitions` of a session.
    pub(crate) fn read(session: &At<'_>, reader: &mut Reader) -> Self {
        let mut phases = Self::default();
        if let Some(list) = session.present("phases") {
            phases.read_list(&list, reader);
        }
        if let Some(transitions) = session.present("transitions") {
            phases.read_transitions(&transitions, reader);
        }
        phases.check_reachability(reader);
        phases
    }

    /// True when the session has phases.
    pub(crate) fn is_declared(&self) -> bool {
        !self.list.is_empty()
    }

    /// The phase with a name.
    pub(crate) fn get(&self, name: &str) -> Option<&Phase> {
        self.list.iter().find(|phase| phase.name.name == name)
    }

    /// The phase in which sessions start.
    pub(crate) fn initial(&self) -> Option<&str> {
        self.list.iter().find(|phase| phase.is_initial).map(|phase| phase.name.name.as_str())
    }

    /// True when there is a declared edge.
    pub(crate) fn leads(&self, from: &str, to: &str) -> bool {
        self.transitions.get(from).is_some_and(|targets| targets.iter().any(|target| target.name == to))
    }

    /// The phases that can be reached from one, itself included.
    pub(crate) fn reach(&self, from: &str) -> BTreeSet<String> {
        let mut reached = BTreeSet::from([from.to_owned()]);
        let mut next = vec![from.to_owned()];
        while let Some(phase) = next.pop() {
            for target in self.transitions.get(&phase).into_iter().flatten() {
                if self.get(&target.name).is_some() && reached.insert(target.name.clone()) {
                    next.push(target.name.clone());
                }
            }
        }
        reached
    }

    /// Reports a name that is no phase.
    pub(crate) fn check_name(&self, name: &Named, reader: &mut Reader) -> bool {
        let is_known = self.is_broken || self.get(&name.name).is_some();
        if !is_known {
            let known = self.list.iter().map(|phase| phase.name.name.as_str());
            let help = yaml_tree::nearest::did_you_mean(&name.name, known);
            let message = format!("there is no phase `{}`", name.name);
            reader.diagnostics.report(Code::UndeclaredPhase, &name.place, message).help(help);
        }
        is_known && !self.is_broken
    }

    fn read_list(&mut self, at: &At<'_>, reader: &mut Reader) {
        if !matches!(at.node.kind, Kind::List(_)) {
            reader.report(Code::PhasesNotAList, at, format!("`phases` is a list, found {}", at.node.describe()));
            self.is_broken = true;
            return;
        }
        for item in reader.list(at) {
            let Some(phase) = read_phase(&item, reader) else { continue };
            if self.get(&phase.name.name).is_some() {
                let message = format!("there is already a phase `{}`", phase.name.name);
                reader.diagnostics.report(Code::DuplicatePhase, &phase.name.place, message);
            } else {
                self.list.push(phase);
            }
        }
        if self.list.is_empty() {
            return;
        }
        let initial = self.list.iter().filter(|phase| phase.is_initial).count();
        if initial != 1 {
            let message = format!("exactly one phase is `initial: true`, and here {initial} are");
            reader.report(Code::InitialPhaseCount, at, message);
        }
        if !self.list.iter().any(|phase| phase.is_terminal) {
            reader.report(Code::NoTerminalPhase, at, "at least one phase is `terminal: true`");
        }
    }

    fn read_transitions(&mut self, at: &At<'_>, reader: &mut Reader) {
        if at.node.entries().is_none() {
            reader.wrong_type(at, "a map from phases to lists of phases");
            return;
        }
        if !self.is_declared() && !self.is_broken && !at.entries().is_empty() {
            reader.report(Code::TransitionsWithoutPhases, at, "there are transitions, and no phases");
            return;
        }
        for (from, targets) in at.entries() {
            self.check_name(&from, reader);
            let targets: Vec<_> = reader.list(&targets).iter().filter_map(|target| reader.named(target)).collect();
            for target in &targets {
                self.check_name(target, reader);
            }
            self.transitions.insert(from.name, targets);
        }
    }

    fn check_reachability(&mut self, reader: &mut Reader) {
        let mut initial = self.list.iter().filter(|phase| phase.is_initial);
        let (Some(first), None) = (initial.next(), initial.next()) else { return };
        self.reachable = self.reach(&first.name.name);
        let has_terminal = self.list.iter().any(|phase| phase.is_terminal);
        for phase in &self.list {
            let name = &phase.name;
            let is_reachable = self.reachable.contains(&name.name);
            if !is_reachable {
                let code = if phase.is_terminal { Code::UnreachableTerminal } else { Code::UnreachablePhase };
                let message = format!("no transitions lead to `{}`", name.name);
                reader.diagnostics.report(code, &name.place, message).about(&name.name);
            }
            let reach = self.reach(&name.name);
            let can_end = self.list.iter().any(|phase| phase.is_terminal && reach.contains(&phase.name.name));
            if is_reachable && has_terminal && !can_end {
                let message = format!("from `{}` no terminal phase can be reached", name.name);
                reader.diagnostics.report(Code::CircularTransitions, &name.place, message).about(&name.name);
            }
        }
    }
}

fn read_phase(at: &At<'_>, reader: &mut Reader) -> Option<Phase> {
    if !reader.is_map(at, &["name", "initial", "terminal"]) {
        return None;
    }
    let name = reader.required_name(at, "name");
    let is_initial = reader.flag(at, "initial", false);
    let is_terminal = reader.flag(at, "terminal", false);
    Some(Phase { name: name?, is_initial, is_terminal })
}
