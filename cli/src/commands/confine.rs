//! `touchstone confine`: becomes another program that can read this machine and change nothing. Check scripts with
//! `runs_in: host` are run through it.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus,
};

use crate::exit_code::Exit;
use crate::output::CommandError;

/// Become another program that can read this machine and change nothing but one folder, and that has no network.
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct Confine {
    /// The folder that may be written.
    writable: PathBuf,
    /// The program and its arguments.
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

impl Confine {
    pub(crate) fn run(self) -> Result<Exit, CommandError> {
        self.restrict().map_err(|reason| CommandError::Usage(format!("cannot confine the script: {reason}")))?;
        let Some((program, arguments)) = self.command.split_first() else { return Ok(Exit::Usage) };
        // Only returns when it fails.
        let error = Command::new(program).args(arguments).exec();
        Err(CommandError::Usage(format!("cannot start `{}`: {error}", program.display())))
    }

    fn restrict(&self) -> Result<(), String> {
        let abi = ABI::V4;
        let text = |error: landlock::RulesetError| error.to_string();
        let folder = |path: &PathBuf| PathFd::new(path).map_err(|error| error.to_string());
        let root = PathFd::new("/").map_err(|error| error.to_string())?;
        let devices = PathFd::new("/dev").map_err(|error| error.to_string())?;
        // Files are kept from being written on any kernel that has Landlock; connections need a newer one.
        let ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(ABI::V1))
            .map_err(text)?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(abi))
            .map_err(text)?
            .handle_access(AccessNet::from_all(abi))
            .map_err(text)?;
        let status = ruleset
            .create()
            .map_err(text)?
            .add_rule(PathBeneath::new(root, AccessFs::from_read(abi)))
            .map_err(text)?
            .add_rule(PathBeneath::new(devices, AccessFs::from_read(abi) | AccessFs::WriteFile))
            .map_err(text)?
            .add_rule(PathBeneath::new(folder(&self.writable)?, AccessFs::from_all(abi)))
            .map_err(text)?
            .restrict_self()
            .map_err(text)?;
        if status.ruleset == RulesetStatus::NotEnforced {
            return Err("this kernel has no Landlock".to_owned());
        }
        Ok(())
    }
}
