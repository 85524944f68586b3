//! The position of a rule in the spec, and its reports.

use crate::spec::Spec;
use crate::spec::bundle::Bundle;
use crate::spec::code::Code;
use crate::spec::diagnostic::{Diagnostic, MOST_KEPT, Severity, alternatives, did_you_mean};
use crate::spec::path::Path;
use crate::spec::salvage::Holes;
use crate::spec::sections::Service;
use crate::spec::types::ServiceName;
use crate::spec::yaml::Node;

/// A place in a spec, and the list that findings go to.
pub(crate) struct Rules<'a> {
    /// The spec as a whole.
    pub(crate) spec: &'a Spec,
    root: &'a Node,
    bundle: Option<&'a Bundle>,
    /// The parts that are missing because they could not be read.
    pub(crate) holes: &'a Holes,
    path: Path,
    findings: &'a mut Vec<Diagnostic>,
}

impl<'a> Rules<'a> {
    /// Rules at the root of a spec.
    pub(super) fn new(
        spec: &'a Spec,
        root: &'a Node,
        bundle: Option<&'a Bundle>,
        holes: &'a Holes,
        findings: &'a mut Vec<Diagnostic>,
    ) -> Self {
        Self { spec, root, bundle, holes, path: Path::default(), findings }
    }

    /// The same rules one key further down.
    pub(crate) fn at(&mut self, key: &str) -> Rules<'_> {
        let path = self.path.key(key);
        self.moved(path)
    }

    /// The same rules at an item of the list.
    pub(crate) fn index(&mut self, index: usize) -> Rules<'_> {
        let path = self.path.index(index);
        self.moved(path)
    }

    /// The same rules somewhere else.
    pub(crate) fn moved(&mut self, path: Path) -> Rules<'_> {
        Rules {
            spec: self.spec,
            root: self.root,
            bundle: self.bundle,
            holes: self.holes,
            path,
            findings: self.findings,
        }
    }

    /// Returns true if this place is in the contract.
    pub(crate) fn is_in_contract(&self) -> bool {
        self.path.section() == Some("contract")
    }

    /// Returns true if the text has this key here.
    pub(crate) fn has(&self, key: &str) -> bool {
        let missing = self.root.locate(&self.path, false);
        self.root.locate(&self.path.key(key), true) != missing
    }

    /// Returns true if there are so many errors that no further finding is kept. Warnings stop earlier, so that they
    /// cannot crowd out an error.
    pub(crate) fn is_full(&self) -> bool {
        self.findings.len() >= 2 * MOST_KEPT
    }

    /// Reports a finding at the value of this place.
    pub(crate) fn report(&mut self, code: Code, message: impl Into<String>, help: Option<&str>) {
        self.push(code, message.into(), help.map(ToOwned::to_owned), false);
    }

    /// Reports a finding at the key of this place.
    pub(crate) fn report_key(&mut self, code: Code, message: impl Into<String>, help: Option<&str>) {
        self.push(code, message.into(), help.map(ToOwned::to_owned), true);
    }

    fn push(&mut self, code: Code, message: String, help: Option<String>, on_key: bool) {
        let crowded = code.severity() != Severity::Error && self.findings.len() >= MOST_KEPT;
        if crowded || self.is_full() {
            return;
        }
        let span = self.root.locate(&self.path, on_key);
        self.findings.push(Diagnostic { code, message, help, path: self.path.clone(), span });
    }

    /// The declared service with this name; reports when there is none.
    pub(crate) fn service(&mut self, name: &ServiceName) -> Option<&'a Service> {
        let spec: &'a Spec = self.spec;
        let found = spec.service(name);
        if found.is_none() && !self.holes.may_have_service(name) {
            let known: Vec<_> = spec.services.iter().map(|service| service.name().as_str()).collect();
            let help = did_you_mean(name, known.iter().copied()).unwrap_or_else(|| match known.as_slice() {
                [] => "declare it under `services`".to_owned(),
                known => {
                    let known = alternatives(known.iter().copied()).replace(" or ", " and ");
                    format!("known here: {known}; or declare it under `services`")
                }
            });
            self.push(Code::UnknownService, format!("there is no service `{name}`"), Some(help), false);
        }
        found
    }

    /// Reports unless `name` is an `http_mock` that keeps its requests.
    pub(crate) fn recording_mock(&mut self, name: &ServiceName) {
        let Some(service) = self.service(name) else { return };
        match service.mock() {
            None => {
                let message = format!("the service `{name}` is not an `http_mock`, so its requests are not known");
                self.report(
                    Code::WrongServiceKind,
                    message,
                    Some("make it `type: http_mock`, or check the service's own state"),
                );
            }
            Some(mock) if !mock.record => {
                self.report(
                    Code::NotRecorded,
                    format!("the service `{name}` does not keep its requests"),
                    Some("add `record: true` to the service"),
                );
            }
            Some(_) => {}
        }
    }

    /// Reports unless `name` is a service whose requests a judge can read.
    pub(crate) fn judged_mock(&mut self, name: &ServiceName) {
        if self.spec.service(name).is_some() {
            return self.recording_mock(name);
        }
        if self.holes.may_have_service(name) {
            return;
        }
        let help = did_you_mean(name, self.spec.services.iter().map(|service| service.name().as_str()))
            .unwrap_or_else(|| "write `agent_output`, `workspace`, or a declared mock's field".to_owned());
        self.push(Code::UnknownInput, format!("there is no service `{name}` to judge"), Some(help), false);
    }

    /// Returns true if a file is beside the spec; `None` when the spec stands alone.
    pub(crate) fn bundle_has(&self, path: &str) -> Option<bool> {
        self.bundle.map(|bundle| bundle.has(path))
    }

    /// Returns true if exactly this file is beside the spec.
    pub(crate) fn is_beside(&self, path: &str) -> bool {
        self.bundle.is_some_and(|bundle| bundle.paths().any(|file| file == path))
    }

    /// Reports when a file that must be beside the spec is not.
    pub(crate) fn needs_file(&mut self, path: &str) {
        if self.bundle_has(path) != Some(true) {
            self.missing_file(path);
        }
    }

    /// Reports that a file is not beside the spec.
    pub(crate) fn missing_file(&mut self, path: &str) {
        match self.bundle {
            None => {
                let help = "put the spec into a folder as `spec.yaml`, with its files beside it, and name the folder";
                self.report(
                    Code::MissingFile,
                    format!("the file `{path}` is not here: this spec stands alone"),
                    Some(help),
                );
            }
            Some(bundle) => {
                let help = did_you_mean(path, bundle.paths());
                self.push(Code::MissingFile, format!("there is no `{path}` in the spec's folder"), help, false);
            }
        }
    }

    /// Reports unless exactly one of the keys is given.
    pub(crate) fn one_of(&mut self, keys: &[&str]) {
        let given: Vec<_> = keys.iter().filter(|key| self.has(key)).copied().collect();
        let names = alternatives(keys.iter().copied());
        match given.as_slice() {
            [] => self.report(Code::MissingKey, format!("one of {names} is needed"), None),
            [_] => {}
            [.., last] => self.at(last).report_key(
                Code::ConflictingKeys,
                format!("{} exclude each other", names.replace(" or ", " and ")),
                Some("keep one of them"),
            ),
        }
    }
}
