//! The environment of commands in the sandbox.

use std::collections::BTreeMap;

use scenario::plan::Values;
use scenario::spec::sections::{Database, SecretScope, Service, ServiceKind};

use crate::attempt::Attempt;
use crate::backend::{Image, TOOL_FOLDER, WORKSPACE};
use crate::run::network;
use crate::uploaded;
use crate::users::User;

/// Search path of programs when the image has none.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The variables that hold the task's prompt.
const PROMPT: [&str; 2] = ["TOUCHSTONE_TASK_PROMPT", "KEYSTONE_TASK_PROMPT"];
/// The variables that say where the task is as a file.
const TASK_FILES: [&str; 2] = ["TOUCHSTONE_TASK_FILE", "KEYSTONE_TASK_FILE"];
/// Path of the task's file, outside the workspace.
pub(crate) const TASK_FILE: &str = "/run/touchstone/task.json";
/// Largest length of a variable.
const MOST_VARIABLE: usize = 120 * 1024;

/// The environment of commands in the sandbox, by name.
pub(crate) type Environment = BTreeMap<String, String>;

/// Returns the environment of `setup.commands` and command checks: the image's variables, the services' addresses,
/// secrets, `more` (the gateways and the clock), `setup.env`.
pub(crate) fn of_commands(attempt: &Attempt<'_>, image: &Image, user: &User, more: Environment) -> Environment {
    let values = attempt.values();
    let mut environment = of_image(image, user);
    environment.extend(addresses(attempt));
    environment.extend(network::variables(attempt.spec));
    environment.extend(seeds(attempt));
    environment.extend(secrets(attempt));
    environment.extend(more);
    let own = attempt.spec.setup.env.iter().map(|(name, text)| (name.to_string(), text.render(&values)));
    environment.extend(own);
    add_tool_program(&mut environment, attempt);
    environment
}

/// Returns the environment of every command: the image's variables, and those that every program expects.
fn of_image(image: &Image, user: &User) -> Environment {
    let mut environment = Environment::from([
        ("PATH".to_owned(), PATH.to_owned()),
        ("HOME".to_owned(), user.home.clone()),
        ("WORKSPACE".to_owned(), WORKSPACE.to_owned()),
        // The same everywhere, unless the image or the spec says otherwise.
        ("TZ".to_owned(), "UTC".to_owned()),
        ("LANG".to_owned(), "C.UTF-8".to_owned()),
    ]);
    environment.extend(image.environment.iter().cloned());
    environment
}

/// Returns the agent's environment: that of commands, the task and the agent's own variables.
pub(crate) fn of_agent(attempt: &Attempt<'_>, commands: &Environment) -> Environment {
    let values = attempt.agents_values();
    let mut environment = commands.clone();
    let prompt = values.prompt();
    // The kernel starts no program with a longer variable; the prompt is in the task's file and on standard input too.
    if prompt.len() <= MOST_VARIABLE {
        for name in PROMPT {
            environment.insert(name.to_owned(), prompt.clone());
        }
    }
    for name in TASK_FILES {
        environment.insert(name.to_owned(), TASK_FILE.to_owned());
    }
    if attempt.snapshot.is_some() || attempt.has_agent_files() {
        uploaded::add_variables(&mut environment);
    }
    if let Some(agent) = &attempt.spec.agent {
        environment.extend(agent.common.env.iter().map(|(name, text)| (name.to_string(), text.render(&values))));
    }
    // The spec may have another PATH for the agent.
    add_tool_program(&mut environment, attempt);
    environment
}

/// Adds the program that calls tools to the search path, behind all others.
fn add_tool_program(environment: &mut Environment, attempt: &Attempt<'_>) {
    if attempt.spec.tools.is_empty() {
        return;
    }
    let path = environment.entry("PATH".to_owned()).or_default();
    if path.is_empty() {
        TOOL_FOLDER.clone_into(path);
    } else if !path.split(':').any(|folder| folder == TOOL_FOLDER) {
        path.push_str(&format!(":{TOOL_FOLDER}"));
    }
}

/// Returns the environment of a person who looks into a sandbox that is kept: that of the agent, without the gateways,
/// which have gone, and without anything that has a secret in it.
pub(crate) fn of_a_person(attempt: &Attempt<'_>, image: &Image, user: &User) -> Environment {
    let values = attempt.values();
    let mut commands = of_image(image, user);
    commands.extend(addresses(attempt));
    commands.extend(seeds(attempt));
    commands.extend(attempt.spec.setup.env.iter().map(|(name, text)| (name.to_string(), text.render(&values))));
    let mut environment = of_agent(attempt, &commands);
    let holds_secret =
        |value: &str| attempt.secrets.values().any(|secret| !secret.is_empty() && value.contains(secret));
    environment.retain(|_, value| !holds_secret(value));
    environment
}

/// `<NAME>_HOST`, `<NAME>_PORT` and `<NAME>_URL` of every service.
fn addresses(attempt: &Attempt<'_>) -> Environment {
    let mut environment = Environment::new();
    for service in &attempt.spec.services {
        let name = service.name().as_str();
        let prefix: String = name
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' })
            .collect();
        environment.insert(format!("{prefix}_HOST"), name.to_owned());
        if let Some(port) = service.ports().first() {
            environment.insert(format!("{prefix}_PORT"), port.to_string());
            let url = match scheme(service) {
                "http" if *port == 80 => format!("http://{name}"),
                scheme => format!("{scheme}://{name}:{port}"),
            };
            environment.insert(format!("{prefix}_URL"), url);
        }
    }
    environment
}

/// Returns the scheme of the service's URL, as its clients write it.
fn scheme(service: &Service) -> &'static str {
    match &service.kind {
        ServiceKind::Container(container) => match container.database() {
            Some(Database::Postgres) => "postgres",
            Some(Database::MySql) => "mysql",
            None if container.image.source().to_lowercase().contains("redis") => "redis",
            None => "http",
        },
        ServiceKind::HttpMock(_) => "http",
    }
}

fn seeds(attempt: &Attempt<'_>) -> Environment {
    let seed = attempt.scenario.seed.get();
    let names = ["TOUCHSTONE_SEED", "KEYSTONE_SEED"].map(|name| (name.to_owned(), seed.to_string()));
    let mut environment = Environment::from(names);
    // Python takes no more than 32 bits.
    environment.insert("PYTHONHASHSEED".to_owned(), (seed & u64::from(u32::MAX)).to_string());
    environment.insert("PERL_HASH_SEED".to_owned(), format!("0x{seed:016x}"));
    environment.insert("PERL_PERTURB_KEYS".to_owned(), "0".to_owned());
    environment
}

fn secrets(attempt: &Attempt<'_>) -> Environment {
    // The key of the model's upstream stays outside.
    let model = attempt.spec.model.as_ref();
    let upstream = model.and_then(|model| model.upstream.as_ref()).and_then(|upstream| upstream.api_key.as_ref());
    let as_variable = attempt.spec.secrets.iter().filter(|secret| {
        matches!(secret.entry().scope, None | Some(SecretScope::Env(_))) && Some(secret.name()) != upstream
    });
    as_variable
        .filter_map(|secret| {
            let name = secret.name().to_string();
            attempt.secrets.get(&name).map(|value| (name, value.clone()))
        })
        .collect()
}

/// Returns the content of the task's file.
pub(crate) fn task_file(values: &Values<'_>, attempt: &Attempt<'_>) -> String {
    let task = serde_json::json!({
        "prompt": values.prompt(),
        "task": { "prompt": values.prompt() },
        "spec_id": attempt.spec.id.to_string(),
        "scenario_id": attempt.scenario.id.to_string(),
        "scenario_params": attempt.scenario.parameters,
        "seed": attempt.scenario.seed.get(),
        "replica": attempt.scenario.replica,
        "workspace_path": WORKSPACE,
    });
    format!("{task:#}\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use scenario::plan::{PlanOptions, expand};
    use scenario::spec::load;

    use super::{of_agent, of_commands};
    use crate::attempt::{Attempt, Keep, Permissions};
    use crate::backend::{Identity, Image};
    use crate::baselines::Baselines;
    use crate::bundle::BundleFolder;
    use crate::entropy;
    use crate::machine::Machine;
    use crate::users::User;

    fn environment(prompt: &str) -> BTreeMap<String, String> {
        environment_with(prompt, "")
    }

    fn environment_with(prompt: &str, more: &str) -> BTreeMap<String, String> {
        let text = format!(
            "version: 1\nid: t\nbase: x\ntask: {{prompt: {prompt}}}\nsecrets: [{{name: KEY, from: 'static://s'}}, {{name: B, from: 'static://s'}}]\n\
             agent: {{type: cli, command: x, env: {{B: agent, C: agent}}}}\nsetup: {{env: {{B: setup, C: setup, D: setup}}}}\n\
             services: [{{name: my-db, image: postgres}}, {{name: mail, type: http_mock}}, {{name: api, type: http_mock, ports: [8080]}}]\n\
             {more}invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
        );
        let spec = load(&text, None).spec.expect("a spec");
        let scenario = expand(&spec, PlanOptions::default()).expect("a plan").scenarios.remove(0);
        let secrets = BTreeMap::from(["KEY", "B"].map(|name| (name.to_owned(), "s".to_owned())));
        let attempt = Attempt {
            spec: &spec,
            scenario: &scenario,
            bundle: &BundleFolder::none(),
            secrets: &secrets,
            identity: Identity { experiment: String::new(), scenario: String::new(), job: entropy::uuid(), attempt: 1 },
            permissions: Permissions::default(),
            agent: None,
            machine: &Machine::default(),
            baselines: &Baselines::new(scenario.seed),
            started_at: jiff::Timestamp::UNIX_EPOCH,
            keep: Keep::Never,
            snapshot: None,
            session: None,
            prompt: None,
            sandbox_id: None,
            approvals: None,
        };
        let image = Image {
            record: scenario::evidence::ImageRecord::default(),
            id: String::new(),
            entrypoint: Vec::new(),
            command: Vec::new(),
            environment: vec![("PATH".to_owned(), "/own".to_owned()), ("D".to_owned(), "image".to_owned())],
            directory: "/".to_owned(),
            user: String::new(),
            volumes: Vec::new(),
            ours: false,
        };
        let user = User { uid: 0, gid: 0, groups: Vec::new(), home: "/root".to_owned() };
        of_agent(&attempt, &of_commands(&attempt, &image, &user, BTreeMap::new()))
    }

    #[test]
    fn what_is_nearer_to_the_agent_wins() {
        let found = environment("do it");
        let shown: Vec<_> = found
            .iter()
            .filter(|(name, _)| !name.ends_with("SEED") && !name.starts_with("PERL"))
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        insta::assert_snapshot!(shown.join("\n"));
    }

    #[test]
    fn the_program_that_calls_tools_is_found_behind_all_others() {
        let tools = "tools: [{name: read_note, mock: {unknown: empty}}]\n";
        assert_eq!(environment_with("do it", tools)["PATH"], "/own:/.touchstone/bin");
        assert_eq!(environment("do it")["PATH"], "/own");
    }

    #[test]
    fn a_prompt_that_no_program_could_be_started_with_is_left_out() {
        assert!(!environment(&"x".repeat(200_000)).contains_key("TOUCHSTONE_TASK_PROMPT"));
    }
}
