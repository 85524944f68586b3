//! Exit of a container, and its last output.

use std::time::Duration;

use bollard::models::ContainerState;
use bollard::query_parameters::LogsOptionsBuilder;
use futures::StreamExt as _;
use tokio::time::Instant;

use super::DockerBackend;
use super::call::{PATIENCE, call_if_there};
use crate::backend::{End, PostMortem};

/// Interval of looks at a container that is ending.
const GLANCE: Duration = Duration::from_millis(50);
/// Time limit until the engine knows about an end.
const SETTLING: Duration = Duration::from_secs(2);
/// The exit code of a container that was killed. The kernel lets nobody inside a container kill its PID 1 but for want of
/// memory, and then says so.
const KILLED: i64 = 137;
/// The exit code of a doorkeeper that was asked to end, as the engine does when it stops. No agent may send it a signal.
const TERMINATED: i64 = 143;
/// Number of lines of a container's output that are looked at.
const LAST_LINES: &str = "20";

impl DockerBackend {
    /// Describes the exit of a container, and its last output. An end takes a moment to be known.
    pub(super) async fn describe_end(&self, name: &str) -> PostMortem {
        let deadline = Instant::now() + SETTLING;
        let state = loop {
            let inspected = call_if_there("look at a container", self.0.docker.inspect_container(name, None)).await;
            let Ok(Some(container)) = inspected else {
                return PostMortem { end: End::Unknown, description: "the container is gone".to_owned() };
            };
            let state = container.state.unwrap_or_default();
            // Why something was killed may be told a little later than that it was.
            let unexplained = state.exit_code == Some(KILLED) && state.oom_killed != Some(true);
            if (state.running != Some(true) && !unexplained) || Instant::now() > deadline {
                break state;
            }
            tokio::time::sleep(GLANCE).await;
        };
        let output = self.last_output(name).await;
        post_mortem(&state, &output)
    }

    /// The last lines that a container printed.
    pub(super) async fn last_output(&self, name: &str) -> String {
        let options = LogsOptionsBuilder::default().stdout(true).stderr(true).tail(LAST_LINES).build();
        let lines = self.0.docker.logs(name, Some(options)).filter_map(|line| async { line.ok() });
        let lines = lines.map(|line| line.to_string()).collect::<Vec<_>>();
        tokio::time::timeout(PATIENCE, lines).await.unwrap_or_default().concat().trim().to_owned()
    }
}

/// Describes the end that a container's state shows.
fn post_mortem(state: &ContainerState, output: &str) -> PostMortem {
    let out_of_memory = state.oom_killed == Some(true);
    let (end, mut description) = match (state.running, state.exit_code) {
        (Some(true), _) if state.paused == Some(true) => (End::Unknown, "somebody paused the container".to_owned()),
        (Some(true), _) => (End::Running, "the container is running".to_owned()),
        (_, Some(code)) if out_of_memory => (End::OutOfMemory, format!("the container ended with exit code {code}")),
        (_, Some(KILLED | TERMINATED)) => (End::Unknown, "somebody outside ended the container".to_owned()),
        (_, Some(code)) => (End::Ended, format!("the container ended with exit code {code}")),
        _ => (End::Unknown, "the container is not running".to_owned()),
    };
    if out_of_memory {
        description.push_str(" because its memory was used up");
    }
    if let Some(error) = state.error.as_ref().filter(|error| !error.is_empty()) {
        description.push_str(&format!(": {error}"));
    }
    if !output.is_empty() {
        description.push_str(&format!("; it printed: {output}"));
    }
    PostMortem { end, description }
}

#[cfg(test)]
mod tests {
    use bollard::models::ContainerState;

    use super::post_mortem;
    use crate::backend::End;

    #[test]
    fn only_an_end_can_be_the_agents_doing() {
        let state = |running, exit_code, oom_killed| ContainerState {
            running: Some(running),
            exit_code: Some(exit_code),
            oom_killed: Some(oom_killed),
            ..ContainerState::default()
        };
        assert_eq!(post_mortem(&state(false, 137, true), "").end, End::OutOfMemory);
        assert_eq!(post_mortem(&state(false, 1, false), "").end, End::Ended);
        assert_eq!(post_mortem(&state(true, 0, true), "").end, End::Running);
        let paused = ContainerState { paused: Some(true), ..state(true, 0, false) };
        assert_eq!(post_mortem(&paused, "").end, End::Unknown, "nobody inside can pause it");
        assert_eq!(post_mortem(&state(false, 137, false), "").end, End::Unknown, "nobody inside can kill PID 1");
        assert_eq!(post_mortem(&state(false, 143, false), "").end, End::Unknown, "nor ask it to end");
        let said = post_mortem(&state(false, 1, false), "boo").description;
        assert_eq!(said, "the container ended with exit code 1; it printed: boo");
    }
}
