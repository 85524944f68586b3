//! The value of a secret that a command prints.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use scenario::untrusted;

/// Timeout of a command.
const PATIENCE: Duration = Duration::from_secs(60);
/// Interval at which the end of a command is polled.
const GLANCE: Duration = Duration::from_millis(10);
/// Maximum number of bytes of its output that are read.
const MOST: u64 = 128 * 1024;
/// Maximum length of its error message that is shown.
const SHOWN: usize = 200;

/// The reason why a command gives no value.
#[derive(Debug, thiserror::Error)]
pub(super) enum SecretCommandError {
    /// The command was not started.
    #[error("cannot run `{line}`: {cause}")]
    Run {
        line: String,
        #[source]
        cause: io::Error,
    },
    /// The command did not end in time.
    #[error("`{line}` took longer than {}s", patience.as_secs_f64())]
    Slow { line: String, patience: Duration },
    /// The command failed, with this message.
    #[error("`{line}` ended with {status}{said}")]
    Failed { line: String, status: ExitStatus, said: String },
    /// The command printed no text.
    #[error("`{line}` printed something that is no text")]
    NoText { line: String },
}

/// Returns the output of a command line, without surrounding space.
pub(super) fn output(line: &str) -> Result<String, SecretCommandError> {
    output_within(line, PATIENCE)
}

fn output_within(line: &str, patience: Duration) -> Result<String, SecretCommandError> {
    let line_of = || line.to_owned();
    let mut command = Command::new("sh");
    command.args(["-c", line]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|cause| SecretCommandError::Run { line: line_of(), cause })?;
    let (stdout, stderr) = (reading(child.stdout.take()), reading(child.stderr.take()));
    let Some(status) = wait(&mut child, patience) else {
        return Err(SecretCommandError::Slow { line: line_of(), patience });
    };
    // Whatever it left running may hold its output open, and is not waited for.
    let stdout = stdout.recv_timeout(patience).unwrap_or_default();
    let value = String::from_utf8_lossy(&stdout).trim().to_owned();
    if !status.success() {
        let said = stderr.recv_timeout(GLANCE * 10).unwrap_or_default();
        return Err(SecretCommandError::Failed { line: line_of(), status, said: explained(&said, &value) });
    }
    String::from_utf8(stdout).map_err(|_| SecretCommandError::NoText { line: line_of() })?;
    Ok(value)
}

/// Returns the command's own error message; empty when it holds what may be the value.
fn explained(said: &[u8], value: &str) -> String {
    let said = String::from_utf8_lossy(said);
    let last = said.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let holds_value = value.lines().map(str::trim).any(|line| !line.is_empty() && last.contains(line));
    if last.is_empty() || holds_value { String::new() } else { format!(": {}", untrusted::line(last, SHOWN)) }
}

/// Waits for the end of a process; ends it when it takes too long.
fn wait(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let mut waited = Duration::ZERO;
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if waited >= patience {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::sleep(GLANCE);
        waited += GLANCE;
    }
}

fn reading(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            let _ = pipe.take(MOST).read_to_end(&mut bytes);
        }
        let _ = sender.send(bytes);
    });
    receiver
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{output, output_within};

    #[test]
    fn a_failure_is_explained_without_the_value() {
        let problem = output("echo locked >&2; exit 1").expect_err("a failure").to_string();
        assert_eq!(problem, "`echo locked >&2; exit 1` ended with exit status: 1: locked");
        let leaky = output("read value < /proc/sys/kernel/ostype; echo $value; echo it is $value >&2; exit 1");
        let problem = leaky.expect_err("a failure").to_string();
        assert!(!problem.contains("Linux"), "{problem}");
    }

    #[test]
    fn a_command_that_does_not_end_is_ended() {
        let problem = output_within("sleep 600", Duration::from_millis(30)).expect_err("too long");
        assert_eq!(problem.to_string(), "`sleep 600` took longer than 0.03s");
    }

    #[test]
    fn what_is_no_text_is_no_value() {
        let problem = output("printf '\\377\\376abc'").expect_err("no text").to_string();
        assert!(problem.contains("no text"), "{problem}");
        assert_eq!(output("printf '  two\\nlines\\n\\n'").expect("a value"), "two\nlines");
    }
}
