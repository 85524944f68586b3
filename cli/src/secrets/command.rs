//! The value of a secret that a command prints.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use scenario::untrusted;

/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked at whether it has ended.
const GLANCE: Duration = Duration::from_millis(10);
/// How much of what it prints is read.
const MOST: u64 = 128 * 1024;
/// How much of what it says about its failure is shown.
const SHOWN: usize = 200;

/// What a command line prints, without space around it.
pub(super) fn output(line: &str) -> Result<String, String> {
    output_within(line, PATIENCE)
}

fn output_within(line: &str, patience: Duration) -> Result<String, String> {
    let mut command = Command::new("sh");
    command.args(["-c", line]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("cannot run `{line}`: {error}"))?;
    let (stdout, stderr) = (reading(child.stdout.take()), reading(child.stderr.take()));
    let Some(status) = wait(&mut child, patience) else {
        return Err(format!("`{line}` took longer than {}s", patience.as_secs_f64()));
    };
    // Whatever it left running may hold its output open, and is not waited for.
    let stdout = stdout.recv_timeout(patience).unwrap_or_default();
    let value = String::from_utf8_lossy(&stdout).trim().to_owned();
    if !status.success() {
        let said = stderr.recv_timeout(GLANCE * 10).unwrap_or_default();
        return Err(format!("`{line}` ended with {status}{}", explained(&said, &value)));
    }
    String::from_utf8(stdout).map_err(|_| format!("`{line}` printed something that is no text"))?;
    Ok(value)
}

/// Why it failed, in its own words; nothing when they hold what may be the value.
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
        assert_eq!(
            output("echo locked >&2; exit 1"),
            Err("`echo locked >&2; exit 1` ended with exit status: 1: locked".to_owned())
        );
        let leaky = output("read value < /proc/sys/kernel/ostype; echo $value; echo it is $value >&2; exit 1");
        let problem = leaky.expect_err("a failure");
        assert!(!problem.contains("Linux"), "{problem}");
    }

    #[test]
    fn a_command_that_does_not_end_is_ended() {
        let problem = output_within("sleep 600", Duration::from_millis(30)).expect_err("too long");
        assert_eq!(problem, "`sleep 600` took longer than 0.03s");
    }

    #[test]
    fn what_is_no_text_is_no_value() {
        assert!(output("printf '\\377\\376abc'").expect_err("no text").contains("no text"));
        assert_eq!(output("printf '  two\\nlines\\n\\n'").as_deref(), Ok("two\nlines"));
    }
}
