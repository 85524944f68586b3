//! Checks of the sandbox backends: a Docker engine with images, or namespaces; and the one that a run would use.

use engine::backend::docker::DockerSettings;
use engine::backend::docker::build::{self, State};
use engine::data_dir::DataDir;
use engine::images::recipe::all;

use super::Finding;
use crate::backend::{BackendOptions, docker, local};

/// Looks at everything that makes sandboxes.
pub(super) async fn look(options: &BackendOptions, data_dir: &DataDir) -> Vec<Finding> {
    let mut findings = Vec::new();
    match docker(data_dir).await {
        Ok(_) => {
            findings.push(Finding::ok("docker engine", "answers"));
            findings.push(images().await);
        }
        Err(error) => {
            let fix = "specs that need images or `setup.packages` cannot be run; start Docker, or be content with `--backend local`";
            findings.push(Finding::warn("docker engine", error.to_string(), fix));
        }
    }
    findings.push(namespaces(data_dir).await);
    findings.push(chosen(options, data_dir).await);
    findings
}

/// Lists the images here that stand in for others.
async fn images() -> Finding {
    const WHAT: &str = "images";
    let docker = match build::connect().await {
        Ok(docker) => docker,
        Err(error) => return Finding::warn(WHAT, error.to_string(), "look at the Docker engine's own log"),
    };
    let (mut current, mut outdated) = (0, Vec::new());
    for recipe in all() {
        match build::state(&docker, recipe).await {
            Ok(State::Current { .. }) => current += 1,
            Ok(State::Outdated { .. }) => outdated.push(recipe.name),
            Ok(State::Missing) => {}
            Err(error) => return Finding::warn(WHAT, error.to_string(), "look at the Docker engine's own log"),
        }
    }
    let found = format!("{current} of {} stand-ins for common images are here", all().len());
    match (current, outdated.as_slice()) {
        (_, outdated @ [_, ..]) => Finding::warn(
            WHAT,
            format!("{found}; older than their recipes: {}", outdated.join(", ")),
            "`touchstone images build` renews them",
        ),
        (0, []) => Finding::ok(
            WHAT,
            format!("{found}; where no registry can be reached, `touchstone images build` makes them"),
        ),
        _ => Finding::ok(WHAT, found),
    }
}

/// Checks that sandboxes can be made without Docker, by making one.
async fn namespaces(data_dir: &DataDir) -> Finding {
    const WHAT: &str = "namespaces";
    match local(data_dir).await {
        Ok(backend) => match backend.weakness() {
            None => Finding::ok(WHAT, format!("sandboxes work without Docker, with {}", backend.programs())),
            Some(weakness) => Finding::warn(
                WHAT,
                format!("sandboxes work without Docker, but {weakness}"),
                "run it as root, or use Docker, where that matters",
            ),
        },
        Err(error) => {
            Finding::warn(WHAT, error.to_string(), "use Docker; the lines about the kernel below say what is missing")
        }
    }
}

/// Reports the backend that a run would use.
async fn chosen(options: &BackendOptions, data_dir: &DataDir) -> Finding {
    const WHAT: &str = "sandboxes";
    let settings = DockerSettings { pull: false, ..DockerSettings::default() };
    match options.connect(data_dir, settings, &[]).await {
        Ok(connected) => {
            let record = connected.backend.record();
            Finding::ok(WHAT, format!("are made by `{}` ({})", record.name, record.runtime))
        }
        Err(error) => Finding::fail(
            WHAT,
            error.to_string(),
            "start Docker, or use Linux with user namespaces; `--backend` chooses between them",
        ),
    }
}
