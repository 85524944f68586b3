//! Containers as a sandbox has them: an agent, and servers in its network namespace with few capabilities.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use bollard::Docker;
use bollard::container::LogOutput;
use bollard::exec::StartExecResults;
use bollard::models::{ContainerCreateBody, ExecConfig, HostConfig};
use bollard::query_parameters::{
    CreateContainerOptions, LogsOptionsBuilder, RemoveContainerOptionsBuilder, StartContainerOptions,
    TopOptionsBuilder, UploadToContainerOptionsBuilder, WaitContainerOptions,
};
use futures::{Stream, StreamExt as _};
use tokio::time::{Instant, sleep, timeout};

/// Time limit for whatever a test waits for.
const PATIENCE: Duration = Duration::from_secs(90);

/// Capabilities of servers, and no more.
const CAPABILITIES: [&str; 5] = ["CHOWN", "SETUID", "SETGID", "FOWNER", "DAC_OVERRIDE"];

/// A network namespace with nothing but loopback, an agent in it, and the containers that join it. All are removed at the
/// end, however it comes.
pub(crate) struct World {
    docker: Docker,
    image: &'static str,
    agent: String,
    containers: Vec<String>,
}

/// A server to start.
#[derive(Default)]
pub(crate) struct Server {
    /// Its environment.
    pub(crate) environment: Vec<&'static str>,
    /// Files that are in it, with their permissions.
    pub(crate) files: Vec<(&'static str, u32, Vec<u8>)>,
    /// A folder that is kept in memory.
    pub(crate) in_memory: Option<&'static str>,
    /// Arguments for it.
    pub(crate) arguments: Vec<&'static str>,
}

/// Exit and output of a program.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Its exit code.
    pub(crate) code: i64,
    /// Its output.
    pub(crate) output: String,
}

impl World {
    /// A namespace whose agent has the programs of an image.
    pub(crate) async fn new(image: &'static str) -> Self {
        let docker = Docker::connect_with_defaults().expect("the Docker engine");
        let mut world = Self { docker, image, agent: String::new(), containers: Vec::new() };
        let agent = ContainerCreateBody {
            entrypoint: Some(vec!["sleep".to_owned()]),
            cmd: Some(vec!["600".to_owned()]),
            ..ContainerCreateBody::default()
        };
        world.agent = world.create(agent, "none".to_owned()).await;
        world.start(&world.agent.clone()).await;
        world
    }

    /// Starts a server of the image in the namespace.
    pub(crate) async fn serve(&mut self, server: Server) -> String {
        let container = ContainerCreateBody {
            env: Some(server.environment.iter().map(ToString::to_string).collect()),
            cmd: (!server.arguments.is_empty()).then(|| server.arguments.iter().map(ToString::to_string).collect()),
            host_config: Some(HostConfig {
                tmpfs: server.in_memory.map(|path| [(path.to_owned(), "size=512m".to_owned())].into()),
                ..HostConfig::default()
            }),
            ..ContainerCreateBody::default()
        };
        let id = self.create(container, format!("container:{}", self.agent)).await;
        if !server.files.is_empty() {
            let options = UploadToContainerOptionsBuilder::default().path("/").build();
            let archive = bollard::body_full(archive(&server.files).into());
            self.docker.upload_to_container(&id, Some(options), archive).await.expect("uploaded");
        }
        self.start(&id).await;
        id
    }

    async fn create(&mut self, mut container: ContainerCreateBody, network: String) -> String {
        container.image = Some(self.image.to_owned());
        container.labels = Some([("touchstone".to_owned(), "test".to_owned())].into());
        container.host_config = Some(HostConfig {
            network_mode: Some(network),
            cap_drop: Some(vec!["ALL".to_owned()]),
            cap_add: Some(CAPABILITIES.map(ToOwned::to_owned).to_vec()),
            security_opt: Some(vec!["no-new-privileges".to_owned()]),
            ..container.host_config.unwrap_or_default()
        });
        let created = self.docker.create_container(None::<CreateContainerOptions>, container).await;
        let id = created.unwrap_or_else(|error| panic!("{error}; run `touchstone images build`")).id;
        self.containers.push(id.clone());
        id
    }

    async fn start(&self, id: &str) {
        self.docker.start_container(id, None::<StartContainerOptions>).await.expect("started");
    }

    /// Starts a server anew, with what it kept.
    pub(crate) async fn restart(&self, id: &str) {
        self.docker.restart_container(id, None).await.expect("restarted");
    }

    /// Runs a program where the agent is: it shares the servers' network, and nothing else.
    pub(crate) async fn agent_runs(&self, environment: &[&str], command: &[&str]) -> Ran {
        self.run(&self.agent, environment, command).await
    }

    /// Runs a program in a container.
    pub(crate) async fn run(&self, id: &str, environment: &[&str], command: &[&str]) -> Ran {
        let config = ExecConfig {
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            env: Some(environment.iter().map(ToString::to_string).collect()),
            cmd: Some(command.iter().map(ToString::to_string).collect()),
            ..ExecConfig::default()
        };
        let exec = self.docker.create_exec(id, config).await.expect("created").id;
        let StartExecResults::Attached { output, .. } = self.docker.start_exec(&exec, None).await.expect("started")
        else {
            panic!("not attached");
        };
        let output = read(output).await;
        Ran { code: self.exit_code(&exec).await, output }
    }

    /// Waits for the exit code of an exec: the engine notes it a moment after the output has ended.
    async fn exit_code(&self, exec: &str) -> i64 {
        let start = Instant::now();
        loop {
            let inspected = self.docker.inspect_exec(exec).await.expect("inspected");
            match inspected.exit_code {
                Some(code) if inspected.running != Some(true) => return code,
                _ => assert!(start.elapsed() < PATIENCE, "{exec} has ended, and has no exit code"),
            }
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until a program of the agent's does well.
    pub(crate) async fn until(&self, environment: &[&str], command: &[&str]) -> String {
        let start = Instant::now();
        loop {
            let ran = self.agent_runs(environment, command).await;
            if ran.code == 0 {
                return ran.output.trim().to_owned();
            }
            if start.elapsed() > PATIENCE {
                let mut logs = String::new();
                for id in &self.containers {
                    logs += &self.logs(id).await;
                }
                panic!("{command:?}: {}\n{logs}", ran.output);
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until a container ends: its exit code, and all that it wrote.
    pub(crate) async fn ended(&self, id: &str) -> Ran {
        let mut waiting = self.docker.wait_container(id, None::<WaitContainerOptions>);
        let ended = timeout(PATIENCE, waiting.next()).await.expect("in time").expect("an answer");
        let code = match ended {
            Ok(ended) => ended.status_code,
            Err(bollard::errors::Error::DockerContainerWaitError { code, .. }) => code,
            Err(error) => panic!("{error}"),
        };
        Ran { code, output: self.logs(id).await }
    }

    /// Returns the whole output of a container.
    pub(crate) async fn logs(&self, id: &str) -> String {
        let options = LogsOptionsBuilder::default().stdout(true).stderr(true).build();
        read(self.docker.logs(id, Some(options))).await
    }

    /// The user and command line of each of a container's processes.
    pub(crate) async fn processes(&self, id: &str) -> Vec<String> {
        let options = TopOptionsBuilder::default().ps_args("-eo pid,uid,args").build();
        let top = self.docker.top_processes(id, Some(options)).await.expect("a list");
        let processes = top.processes.unwrap_or_default();
        let lines = processes.iter().map(|process| process[1..].join(" "));
        // A process that is ending has lost its command line, and `ps` shows its name in brackets.
        lines.filter(|line| !line.split(' ').nth(1).is_some_and(|command| command.starts_with('['))).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let (docker, containers) = (self.docker.clone(), std::mem::take(&mut self.containers));
        // A thread of its own, because a test that fails has no time left to wait for anything.
        let removal = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let docker = Docker::connect_with_defaults().unwrap_or(docker);
                for id in containers.iter().rev() {
                    let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
                    let _ = docker.remove_container(id, Some(options)).await;
                }
            });
        });
        let _ = removal.join();
    }
}

async fn read(stream: impl Stream<Item = Result<LogOutput, bollard::errors::Error>>) -> String {
    let chunks: Vec<_> = stream.map(|chunk| chunk.expect("output").to_string()).collect().await;
    chunks.concat()
}

fn archive(files: &[(&'static str, u32, Vec<u8>)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, mode, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len().try_into().expect("a size"));
        header.set_mode(*mode);
        archive.append_data(&mut header, path, content.as_slice()).expect("appended");
    }
    archive.into_inner().expect("an archive")
}

/// A text, compressed.
pub(crate) fn gzip(text: &str) -> Vec<u8> {
    let mut child =
        std::process::Command::new("gzip").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("gzip");
    child.stdin.take().expect("an input").write_all(text.as_bytes()).expect("written");
    child.wait_with_output().expect("compressed").stdout
}
