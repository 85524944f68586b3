//! A box with a doorkeeper in it, and a worker that is a test.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use doorkeeper::protocol::{Event, Exited, Failure, Message, Request, Spawn, Stream};
use doorkeeper::socket::Connection;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Time limit for whatever a test waits for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A box.
pub(crate) struct Sandbox {
    /// A folder of the test, removed at the end.
    folder: TempDir,
    /// `unshare`, or the doorkeeper itself when there is no box around it.
    process: Child,
    /// The worker's end; `None` when the worker disconnected.
    connection: Option<Connection>,
    /// Events that nobody asked for yet.
    waiting: Vec<(Event, Option<OwnedFd>)>,
    /// The number of the last request.
    last: u32,
}

/// Output and exit of a command.
pub(crate) struct Finished {
    /// Its standard output.
    pub(crate) out: Vec<u8>,
    /// Its standard error.
    pub(crate) err: Vec<u8>,
    /// Its exit.
    pub(crate) exited: Exited,
}

impl Finished {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.out).unwrap().trim_end()
    }
}

/// Returns true if boxes can be made here. Where tools are required, their absence is a failure.
pub(crate) fn possible() -> bool {
    let made = Command::new("unshare")
        .args(["--pid", "--fork", "--mount-proc", "--net", "ip", "link", "set", "lo", "up"])
        .status();
    if made.is_ok_and(|status| status.success()) {
        return true;
    }
    assert!(std::env::var_os("TOUCHSTONE_REQUIRE_TOOLS").is_none(), "unshare and ip are needed, and to be root");
    println!("skipped: making namespaces with unshare is not permitted here");
    false
}

#[expect(clippy::disallowed_methods, reason = "a test waits for a real process, for a bounded time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Waits until something is so.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = now() + PATIENCE;
    while !is_so() {
        assert!(now() < deadline, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A command as root, with a usual environment.
pub(crate) fn command(arguments: &[&str]) -> Spawn {
    Spawn {
        arguments: arguments.iter().map(|argument| argument.as_bytes().to_vec()).collect(),
        environment: vec![(b"PATH".to_vec(), b"/usr/sbin:/usr/bin:/sbin:/bin".to_vec())],
        directory: b"/".to_vec(),
        ..Spawn::default()
    }
}

/// A script as root.
pub(crate) fn script(text: &str) -> Spawn {
    command(&["sh", "-c", text])
}

/// Starts a doorkeeper with a command prefix, and returns the listening worker.
pub(crate) fn launch(before: &[&str]) -> (TempDir, UnixListener, Child) {
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    open(folder.path(), 0o755);
    // Somebody without rights cannot start it where it was built.
    let program = folder.path().join("doorkeeper");
    std::fs::copy(env!("CARGO_BIN_EXE_doorkeeper"), &program).unwrap();
    let watched = folder.path().join("workspace");
    std::fs::create_dir(&watched).unwrap();
    open(&watched, 0o777);
    let socket = folder.path().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    open(&socket, 0o777);
    let mut words: Vec<PathBuf> = before.iter().map(PathBuf::from).collect();
    words.extend([program, socket, watched]);
    let process =
        Command::new(&words[0]).args(&words[1..]).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    (folder, listener, process)
}

/// Command prefix that makes the doorkeeper PID 1 of a box whose network is up.
pub(crate) const BOXED: [&str; 8] = ["unshare", "--pid", "--fork", "--mount-proc", "--net", "--kill-child", "sh", "-c"];
pub(crate) const UP: [&str; 2] = ["ip link set lo up && exec \"$@\"", "sh"];

/// Waits for a doorkeeper, and greets it.
fn greeted(listener: &UnixListener) -> Connection {
    let mut connection = Connection::new(listener.accept().unwrap().0);
    connection.stream().set_read_timeout(Some(PATIENCE)).unwrap();
    connection.stream().set_write_timeout(Some(PATIENCE)).unwrap();
    connection.send(&Message::greeting(), None).unwrap();
    assert_eq!(connection.receive().unwrap().unwrap().0, Message::greeting());
    connection
}

impl Sandbox {
    /// Returns the report of the process that watches the box: its own number, and the descriptors that it holds.
    pub(crate) fn told(&mut self) -> (u32, Vec<String>) {
        let mut line = String::new();
        let mut output = std::io::BufReader::new(self.process.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        (self.process.id(), line.split_whitespace().skip(1).map(ToOwned::to_owned).collect())
    }

    /// A box, or `None` where none can be made.
    pub(crate) fn new() -> Option<Self> {
        possible().then(|| Self::start(&[BOXED.as_slice(), &UP].concat()))
    }

    /// A doorkeeper that is user 1234, has no capability and is not PID 1; or `None` where that cannot be.
    pub(crate) fn without_rights() -> Option<Self> {
        possible().then(|| Self::start(&["setpriv", "--reuid", "1234", "--regid", "1234", "--clear-groups"]))
    }

    /// Starts a doorkeeper and greets it.
    pub(crate) fn start(before: &[&str]) -> Self {
        let (folder, listener, process) = launch(before);
        let sandbox = Self::greet(folder, &listener, process);
        // The worker does the same: the doorkeeper would take a socket that is left there for a visitor's.
        std::fs::remove_file(sandbox.folder.path().join("socket")).unwrap();
        sandbox
    }

    /// Waits for a doorkeeper, and greets it.
    pub(crate) fn greet(folder: TempDir, listener: &UnixListener, process: Child) -> Self {
        let connection = greeted(listener);
        Self { folder, process, connection: Some(connection), waiting: Vec::new(), last: 0 }
    }

    /// The watched folder.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// The workspace, as requests name it.
    pub(crate) fn root(&self) -> Vec<u8> {
        self.workspace().into_os_string().into_encoded_bytes()
    }

    /// The number of the doorkeeper's process, as this test sees it.
    pub(crate) fn outer_pid(&self) -> u32 {
        let pid = self.process.id();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        children.trim().parse().unwrap()
    }

    /// Sends a request that has no number of its own.
    pub(crate) fn send(&mut self, request: Request) {
        self.connection.as_mut().unwrap().send(&request.into(), None).unwrap();
    }

    /// Sends bytes that need not be a request.
    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        use std::io::Write;
        self.connection.as_ref().unwrap().stream().write_all(bytes).unwrap();
    }

    /// Sends a request with a new number.
    pub(crate) fn ask(&mut self, request: impl FnOnce(u32) -> Request) -> u32 {
        self.last += 1;
        let request = request(self.last);
        self.send(request);
        self.last
    }

    /// Starts a command.
    pub(crate) fn spawn(&mut self, spawn: Spawn) -> u32 {
        self.ask(|id| Request::Spawn { id, spawn })
    }

    /// The next event of a request, with its descriptor.
    pub(crate) fn event_and_descriptor(&mut self, id: u32) -> (Event, Option<OwnedFd>) {
        loop {
            if let Some(index) = self.waiting.iter().position(|(event, _)| event.id() == id) {
                return self.waiting.remove(index);
            }
            match self.connection.as_mut().unwrap().receive().unwrap().unwrap() {
                (Message::Event(Event::Working { .. }), _) => {}
                (Message::Event(event), descriptor) => self.waiting.push((event, descriptor)),
                other => panic!("{other:?} is no event"),
            }
        }
    }

    /// The next event of a request.
    pub(crate) fn event(&mut self, id: u32) -> Event {
        self.event_and_descriptor(id).0
    }

    /// The next event of any request.
    pub(crate) fn any_event(&mut self) -> Event {
        loop {
            match self.connection.as_mut().unwrap().receive().unwrap().unwrap().0 {
                // On a machine that is busy.
                Message::Event(Event::Working { .. }) => {}
                Message::Event(event) => return event,
                other => panic!("{other:?} is no event"),
            }
        }
    }

    /// Returns the credit that an event used.
    pub(crate) fn credit(&mut self, event: &Event) {
        let stream = if let Event::Data { stream, .. } = event { *stream } else { Stream::Out };
        self.send(Request::Credit { id: event.id(), stream, bytes: event.credit() });
    }

    /// Waits until a command was started.
    pub(crate) fn started(&mut self, id: u32) -> u32 {
        match self.event(id) {
            Event::Started { pid, .. } => pid,
            other => panic!("not started, but {other:?}"),
        }
    }

    /// Takes the output of a command that was started, until it ended.
    pub(crate) fn finish(&mut self, id: u32) -> Finished {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        loop {
            let event = self.event(id);
            match &event {
                Event::Data { stream: Stream::Out, bytes, .. } => out.extend_from_slice(bytes),
                Event::Data { stream: Stream::Err, bytes, .. } => err.extend_from_slice(bytes),
                Event::Exited { exited, .. } => return Finished { out, err, exited: *exited },
                other => panic!("neither output nor end, but {other:?}"),
            }
            self.credit(&event);
        }
    }

    /// Runs a command to its end.
    pub(crate) fn run(&mut self, spawn: Spawn) -> Finished {
        let id = self.spawn(spawn);
        self.started(id);
        self.finish(id)
    }

    /// Runs a script to its end, and returns its output.
    pub(crate) fn shell(&mut self, text: &str) -> String {
        let finished = self.run(script(text));
        let err = String::from_utf8_lossy(&finished.err).into_owned();
        assert_eq!(finished.exited.status, doorkeeper::protocol::Status::Code(0), "{err}");
        finished.text().to_owned()
    }

    /// The failure of a request.
    pub(crate) fn failure(&mut self, id: u32) -> Failure {
        match self.event(id) {
            Event::Failed { failure, .. } => failure,
            other => panic!("no failure, but {other:?}"),
        }
    }

    /// Waits until a request is done.
    pub(crate) fn done(&mut self, id: u32) {
        assert_eq!(self.event(id), Event::Done { id });
    }

    /// Returns true if the doorkeeper closes the connection, after whatever it still sends.
    pub(crate) fn is_hung_up(&mut self) -> bool {
        self.connection.as_mut().unwrap().receive().unwrap().is_none()
    }

    /// Returns true if the doorkeeper lives.
    pub(crate) fn is_running(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    /// Listens where the worker did, like a visitor of a sandbox that is kept, and waits for the doorkeeper.
    pub(crate) fn visit(&mut self) {
        let socket = self.folder.path().join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        std::fs::set_permissions(&socket, PermissionsExt::from_mode(0o777)).unwrap();
        self.connection = Some(greeted(&listener));
        self.waiting.clear();
        std::fs::remove_file(&socket).unwrap();
    }

    /// Disconnects the worker.
    pub(crate) fn leave(&mut self) {
        self.connection = None;
    }

    /// Waits for the doorkeeper's end, and returns its exit status and its output.
    pub(crate) fn end(&mut self) -> (ExitStatus, String) {
        let mut status = None;
        wait_until("the doorkeeper's end", || {
            status = self.process.try_wait().unwrap();
            status.is_some()
        });
        let mut text = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        (status.unwrap(), text)
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.connection = None;
        // One that stays does not end with its connection, nor with `unshare`.
        let pid = self.process.id();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|child| Pid::from_raw(child.parse().ok()?)) {
            let _ = kill_process(child, Signal::KILL);
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
