//! `touchstone config`: everything that can be configured, for the documentation.

use clap::{Args, CommandFactory as _};

use crate::Arguments;
use crate::ci_commands::Form;
use crate::configuration;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// Text before the table.
const PREFACE: &str = "\
# Configuration

Everything here can be given on the command line as `--key`, by an environment variable, and in a file: TOML that
`--config FILE` or `TOUCHSTONE_CONFIG` names. The command line counts before the environment, the environment before the
file, and the file before what is usual.

In the file, a key above all tables is for every command that has it; a table is for the command that it is called like.
Switches are `true` or `false`. A key that nobody knows is a mistake, and is said.

<!-- file: touchstone.toml -->
```toml
data-dir = \"/var/lib/touchstone\"
database-url = \"postgres://touchstone@db.internal/touchstone\"

[serve]
listen = \"127.0.0.1:8012\"
no-worker = true
keep-for = \"90d\"

[worker]
max-concurrent = 8
```

A variable that is set to nothing is as if it were not set. Whether a value fits is found by the command that takes it; all names of the file are read by every command, so one that is wrong is found by any:

<!-- given: specs/hello-world -->

<!-- run -->
```sh
touchstone validate specs --config touchstone.toml
```

`serve`, `worker`, `key` and `gc` also take `DATABASE_URL` when nothing else says where the database is. The commands of
somebody who works on a spec (`run`, `ci`, `rerun`, `list`, `show`, `trace`, `shell`, `compare`, `rescore`, `cancel` and
`doctor`) do not: where an application is being worked on, that variable is often the application's own, and its database
is no place for our tables.

`submit`, `watch`, `results`, `logs` and `artifacts` speak to the server at `url`, with the key `api-key`; without them,
`KEYSTONE_BASE_URL` and `KEYSTONE_API_KEY` are looked at. `list`, `cancel`, `rerun`, `compare`, `trace`, `ci` and `doctor`
speak to a server only when `url` is set, and `--local` keeps the first five at this machine.

Not in the table: `TOUCHSTONE_SECRET_KEY` (64 hexadecimal digits or base64 of 32 bytes), with which stored secrets are
sealed; `DOCKER_HOST`, which says where the Docker engine is; and `TOUCHSTONE_RUN_AS` (`UID:GID`, such as 1000:1000), the
unprivileged user that a process becomes when it was started as root, in the group of the Docker engine's socket: the
container image sets it.

";

/// Show everything that can be configured, as Markdown.
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct Config {
    /// As Markdown; there is no other form.
    #[arg(long)]
    markdown: bool,
}

impl Config {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let Self { markdown: _ } = self;
        let table = configuration::markdown(&Arguments::command());
        output.exactly(&format!("{PREFACE}{table}"), Form::Text)?;
        Ok(Exit::Passed)
    }
}
