//! The place in which a command or script of a check runs: `verify`.

use serde::{Deserialize, Serialize, Serializer};

use crate::spec::code::Code;
use crate::spec::reader::{Readable, Reader};
use crate::spec::section::{read_word, section};
use crate::spec::shape::{Choice, Shape};
use crate::spec::types::ImagePath;
use crate::spec::validate::Rules;
use crate::spec::yaml::{Kind, Node};

/// The place in which a command of a check runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(from = "Written")]
pub enum Verify {
    /// In the sandbox that the agent left.
    #[default]
    Sandbox,
    /// In a new container of the original image, with a copy of the workspace and of these paths, and no network.
    Fresh(Vec<ImagePath>),
}

section! {
    /// A new container of the original image that has more of what the agent left than the workspace. `verify: fresh` stands
    /// for `verify: {fresh: []}`.
    ///
    /// Everything at and below a path is as the agent left it, with contents, owners, permissions and links, but not with
    /// times; what the agent removed there is not there. All else is the original image, so a path should hold what the task
    /// is about and no program that the check runs.
    ///
    /// ```yaml
    /// check:
    ///   type: command_exit
    ///   command: nginx -t -c /etc/nginx/nginx.conf
    ///   verify: { fresh: [/etc/nginx] }
    /// ```
    pub struct FreshWith {
        /// Absolute paths outside the workspace, at most 20 of them. None leads through a link or is below another.
        fresh: Vec<ImagePath>,
    }
}

/// Maximum number of paths that a new container can have besides the workspace.
const MOST_PATHS: usize = 20;
/// The words that stand for a place.
const WORDS: [(&str, Place); 2] = [("sandbox", Place::Sandbox), ("fresh", Place::Fresh)];

#[derive(Debug, Clone, Copy)]
enum Place {
    Sandbox,
    Fresh,
}

impl Verify {
    /// Reports paths that cannot be copied together, and recommends a new container when `verify` is absent.
    pub(super) fn validate(&self, rules: &mut Rules<'_>) {
        let Self::Fresh(paths) = self else { return recommend_fresh(rules) };
        let mut rules = rules.at("verify");
        let mut rules = rules.at("fresh");
        if paths.len() > MOST_PATHS {
            let message = format!("expected at most {MOST_PATHS} paths, found {}", paths.len());
            rules.report(Code::InvalidValue, message, Some("name the folder that they are in"));
        }
        for (index, path) in paths.iter().enumerate() {
            // Of two that are the same, the second is one too many.
            let is_outer =
                |(other, outer): &(usize, &ImagePath)| path.is_within(outer) && (*outer != path || *other < index);
            if let Some((_, outer)) = paths.iter().enumerate().find(is_outer) {
                let message = match outer == path {
                    true => format!("the path `{path}` stands here twice"),
                    false => format!("the path `{path}` is part of `{outer}`, which stands here too"),
                };
                rules.index(index).report(Code::InvalidValue, message, Some("leave it out"));
            }
        }
    }
}

fn recommend_fresh(rules: &mut Rules<'_>) {
    if !rules.has("verify") {
        let message = "this runs in the sandbox that the agent left, where the agent can have replaced what it runs";
        let help = "add `verify: fresh`, or `verify: {fresh: [PATH]}` when it looks at more than the workspace, or `verify: sandbox` when it needs the sandbox itself or its services";
        rules.report(Code::VerifyFresh, message, Some(help));
    }
}

impl Readable for Verify {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        if let Kind::Map(_) = node.kind {
            return FreshWith::read(node, reader).map(|with| Self::Fresh(with.fresh));
        }
        read_word(node, reader, &WORDS).map(|place| match place {
            Place::Sandbox => Self::Sandbox,
            Place::Fresh => Self::Fresh(Vec::new()),
        })
    }

    fn shape() -> Shape {
        let sandbox = Choice { word: "sandbox", doc: "In the sandbox that the agent left.".to_owned() };
        let doc = "In a new container of the original image, with a copy of the workspace and no network.".to_owned();
        Shape::Either(vec![Shape::Choice(vec![sandbox, Choice { word: "fresh", doc }]), FreshWith::shape()])
    }
}

impl Serialize for Verify {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Sandbox => serializer.serialize_str("sandbox"),
            Self::Fresh(paths) if paths.is_empty() => serializer.serialize_str("fresh"),
            Self::Fresh(paths) => FreshWith { fresh: paths.clone() }.serialize(serializer),
        }
    }
}

/// Its form in JSON.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Written {
    Word(Word),
    Paths { fresh: Vec<ImagePath> },
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Sandbox,
    Fresh,
}

impl From<Written> for Verify {
    fn from(written: Written) -> Self {
        match written {
            Written::Word(Word::Sandbox) => Self::Sandbox,
            Written::Word(Word::Fresh) => Self::Fresh(Vec::new()),
            Written::Paths { fresh } => Self::Fresh(fresh),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Verify;
    use crate::checks::testing::read;
    use crate::spec::diagnostic::Severity;
    use crate::spec::load;

    #[test]
    fn what_is_written_is_read_back() {
        for yaml in ["sandbox", "fresh", "{fresh: [/etc/nginx, /git]}"] {
            let verify: Verify = read(yaml);
            let json = serde_json::to_value(&verify).expect("JSON");
            assert_eq!(serde_json::from_value::<Verify>(json).expect("the same"), verify, "{yaml}");
        }
        assert_eq!(read::<Verify>("{fresh: []}"), read("fresh"));
    }

    fn findings(verify: &str) -> Vec<String> {
        let text = format!(
            "version: 1\nid: test\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
             invariants: {{x: {{description: x, check: {{type: command_exit, command: x, verify: {verify}}}}}}}\n"
        );
        let loaded = load(&text, None);
        let shown = |help: &Option<String>| help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
        loaded.diagnostics.iter().map(|finding| format!("{}{}", finding.message, shown(&finding.help))).collect()
    }

    #[test]
    fn a_new_container_is_recommended_to_who_did_not_choose() {
        let advice = |check: &str| {
            let text = format!(
                "version: 1\nid: test\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
                 invariants: {{x: {{description: x, check: {check}}}}}\n"
            );
            let loaded = load(&text, None);
            assert!(loaded.spec.is_some(), "{:?}", loaded.diagnostics);
            assert!(loaded.diagnostics.iter().all(|finding| finding.code.severity() != Severity::Advice));
            let places: Vec<_> = loaded.advice.iter().map(|one| format!("{} {}", one.code, one.path)).collect();
            places.join(", ")
        };
        let script = "type: custom, script: x.sh, runs_in";
        assert_eq!(advice("{type: command_exit, command: x}"), "verify-fresh invariants.x.check");
        assert_eq!(advice(&format!("{{{script}: sandbox}}")), "verify-fresh invariants.x.check");
        for verify in ["fresh", "sandbox", "{fresh: [/etc]}"] {
            assert_eq!(advice(&format!("{{type: command_exit, command: x, verify: {verify}}}")), "");
        }
        assert_eq!(advice(&format!("{{{script}: host}}")), "");
        assert_eq!(advice("{type: file_exists, path: x}"), "");
    }

    #[test]
    fn paths_are_of_the_image_and_apart_from_each_other() {
        assert!(findings("{fresh: [/etc, /git/repo.git, /srv/../srv]}").len() == 1);
        let bad = "[etc/nginx, /etc/../x, /, /proc/1, /sys, /dev/shm, /workspace, /workspace/x, /.touchstone/door, '', '/a{{ params.x }}', '/etc/*.conf']";
        insta::assert_snapshot!(findings(&format!("{{fresh: {bad}}}")).join("\n"));
        insta::assert_snapshot!(findings("{fresh: [/etc/nginx, /etc, /etc-2, /git, /git]}").join("\n"));
        insta::assert_snapshot!(findings("{fersh: [/etc]}").join("\n"));
        insta::assert_snapshot!(findings("fersh").join("\n"));
    }
}
