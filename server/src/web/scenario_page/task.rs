//! The agent's task and command: as in the spec, with the template values of this scenario.
//!
//! Values of secrets are not known here: a secret is the mark that stands for it in the evidence, or its template.

use maud::{Markup, html};
use scenario::evidence::Evidence;
use scenario::plan::{Scenario, Values};
use scenario::spec::Spec;
use scenario::spec::sections::AgentKind;
use scenario::spec::types::Command;
use store::Experiment;

use super::Shown;
use crate::web::numbers::bytes;
use crate::web::untrusted_html::beginning;

/// The size limit of a prompt and of a command on a page in bytes.
const MOST: usize = 8 * 1024;

/// The agent's task, and the agent.
#[derive(Debug)]
pub(super) struct AgentTask {
    prompt: String,
    /// The type of the agent.
    agent: String,
    /// Its names and addresses.
    names: Vec<(&'static str, String)>,
}

impl AgentTask {
    /// Reads the task of a scenario's agent.
    pub(super) fn of(experiment: &Experiment, spec: &Spec, scenario: &Scenario, evidence: Option<&Evidence>) -> Self {
        let nothing = Evidence::default();
        let values = Values::for_judging(spec, scenario, evidence.unwrap_or(&nothing));
        let own = spec.agent.as_ref().map(|agent| &agent.kind);
        let (agent, names) = match (&experiment.settings.agent, own) {
            (Some(other), _) => (format!("{other}, instead of the spec's own"), Vec::new()),
            (None, Some(kind)) => named(kind, &values),
            (None, None) => ("none".to_owned(), Vec::new()),
        };
        Self { prompt: values.prompt(), agent, names }
    }
}

/// The type of an agent, and what it is called or reached by.
fn named(kind: &AgentKind, values: &Values<'_>) -> (String, Vec<(&'static str, String)>) {
    let (word, names) = match kind {
        AgentKind::Cli(cli) => ("cli", vec![("Command", line(&cli.command, values))]),
        AgentKind::Image(image) => {
            let command = image.command.as_ref().map(|command| ("Command", line(command, values)));
            ("image", [("Image", image.image.render(values))].into_iter().chain(command).collect())
        }
        AgentKind::Http(http) => {
            let url = http.url.as_ref().map(|url| ("Address", url.render(values)));
            let image = http.image.as_ref().map(|image| ("Image", image.render(values)));
            ("http", url.into_iter().chain(image).collect())
        }
        AgentKind::Snapshot(snapshot) => ("snapshot", vec![("Uploaded as", snapshot.snapshot.render(values))]),
        AgentKind::Paragon(_) => ("paragon", Vec::new()),
        AgentKind::Noop(_) => ("noop", Vec::new()),
        AgentKind::Oracle(_) => ("oracle", Vec::new()),
    };
    (word.to_owned(), names)
}

/// A command as it is written: a line for the shell, or the list of its words.
fn line(command: &Command, values: &Values<'_>) -> String {
    match command {
        Command::Line(line) => line.render(values),
        Command::Words(_) => serde_json::Value::from(command.render(values)).to_string(),
    }
}

/// The task, near the top of the page.
pub(super) fn section(shown: &Shown) -> Markup {
    let Some(task) = &shown.task else { return html! {} };
    html! {
        section aria-labelledby="task" {
            h2 #task { "Task" }
            (text(shown, "prompt", &task.prompt))
            dl.pairs {
                dt { "Agent" } dd { code { (shown.marks().text(&task.agent)) } }
                @for (name, value) in &task.names { dt { (name) } dd { (text(shown, "command", value)) } }
            }
        }
    }
}

fn text(shown: &Shown, class: &str, text: &str) -> Markup {
    let (beginning, left) = beginning(text.trim_end(), MOST);
    html! {
        pre class=(class) tabindex="0" { code { (shown.marks().text(beginning)) } }
        @if left > 0 { p.quiet { (bytes(left as u64)) " are left out here; all of it is in the spec." } }
    }
}
