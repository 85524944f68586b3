//! `touchstone-tool`: the tools of the sandbox for agents that only have a shell.
//!
//! The tool is the doorkeeper's program under another name, because that is static and in every sandbox. It speaks MCP
//! over HTTP with the gateway of tools.

mod address;
mod answer;
mod client;
mod http;
mod show;

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use serde_json::{Map, Value as Json};

use address::Address;
use client::{Client, ClientError};

/// The name under which the program is this.
pub(crate) const NAME: &str = "touchstone-tool";
/// The variable with the address of the gateway.
const VARIABLE: &str = "TOUCHSTONE_MCP_URL";
/// The address of the gateway, when the variable is not set.
const USUAL: &str = "http://tools.services.internal/mcp";
/// The exit code for a call whose result is an error of the tool.
const FAILED: u8 = 1;
/// The exit code for wrong usage, and for a gateway that cannot be reached or understood.
const UNUSABLE: u8 = 2;
/// Largest arguments on standard input, in bytes.
const MOST_ARGUMENTS: u64 = 16 * 1024 * 1024;

const USAGE: &str = "usage:
  touchstone-tool                list the tools
  touchstone-tool NAME           show a tool with the schema of its arguments
  touchstone-tool NAME '{JSON}'  call a tool; `-` reads the arguments from standard input

The result is printed. Exit codes: 0, 1 for an error of the tool (its text is on standard error), 2 for wrong usage and when
the gateway of tools cannot be reached. TOUCHSTONE_MCP_URL has its address.
";

/// A reason why there is no result.
#[derive(Debug)]
enum Problem {
    /// The program was called in a wrong way.
    Usage(String),
    /// The gateway could not be asked.
    Client(ClientError),
    /// The result could not be printed.
    Output(std::io::Error),
}

/// Lists, shows or calls tools, as the arguments say.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<String> = arguments.map(|argument| argument.to_string_lossy().into_owned()).collect();
    match done(&arguments) {
        Ok(code) => ExitCode::from(code),
        Err(problem) => {
            let text = match problem {
                Problem::Usage(reason) => format!("{reason}\n\n{USAGE}"),
                Problem::Client(error) => format!("{error}\n"),
                Problem::Output(error) => format!("cannot print the result: {error}\n"),
            };
            // There is nobody else to tell when standard error is closed.
            let _ = write!(std::io::stderr(), "{NAME}: {text}");
            ExitCode::from(UNUSABLE)
        }
    }
}

fn done(arguments: &[String]) -> Result<u8, Problem> {
    match arguments {
        [] => print(&show::list(&client()?.tools()?)),
        [help] if help == "--help" || help == "-h" => print(USAGE),
        [option, ..] if option.starts_with("--") => Err(Problem::Usage(format!("there is no option `{option}`"))),
        [name] => print(&show::one(&tool(&mut client()?, name)?)),
        [name, given] => call(name, given),
        _ => Err(Problem::Usage("there are too many arguments: quote the JSON, as in '{\"id\": 1}'".to_owned())),
    }
}

/// Calls a tool, and prints its result.
fn call(name: &str, given: &str) -> Result<u8, Problem> {
    let arguments = arguments(given)?;
    let result = client()?.call(name, arguments)?;
    let text = show::result(&result);
    if result.get("isError") == Some(&Json::Bool(true)) {
        let _ = std::io::stderr().write_all(text.as_bytes());
        return Ok(FAILED);
    }
    print(&text)
}

/// The arguments of a call: a JSON object.
fn arguments(given: &str) -> Result<Map<String, Json>, Problem> {
    let mut read = String::new();
    let text = if given == "-" {
        let stdin = std::io::stdin().take(MOST_ARGUMENTS).read_to_string(&mut read);
        stdin.map_err(|error| Problem::Usage(format!("cannot read standard input: {error}")))?;
        &read
    } else {
        given
    };
    match serde_json::from_str(text) {
        Ok(Json::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(Problem::Usage("arguments are a JSON object, such as '{\"id\": 1}'".to_owned())),
        Err(error) => Err(Problem::Usage(format!("the arguments are no JSON: {error}"))),
    }
}

/// The definition of a tool.
fn tool(client: &mut Client, name: &str) -> Result<Json, Problem> {
    let tools = client.tools()?;
    let found = tools.iter().find(|tool| tool.get("name").and_then(Json::as_str) == Some(name));
    found.cloned().ok_or_else(|| {
        let names: Vec<_> = tools.iter().filter_map(|tool| tool.get("name")?.as_str()).collect();
        Problem::Usage(format!("there is no tool `{name}`; there are: {}", names.join(", ")))
    })
}

fn client() -> Result<Client, Problem> {
    let url = std::env::var(VARIABLE).ok().filter(|url| !url.is_empty()).unwrap_or_else(|| USUAL.to_owned());
    let address =
        Address::of(&url).ok_or_else(|| Problem::Usage(format!("{VARIABLE} is no address like {USUAL}: {url}")))?;
    Ok(Client::connect(address)?)
}

fn print(text: &str) -> Result<u8, Problem> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        // Whoever reads has read enough.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Problem::Output(error)),
        _ => Ok(0),
    }
}

impl From<ClientError> for Problem {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}
