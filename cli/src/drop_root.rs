//! Becomes an unprivileged user when it was started as root, as a worker in a container is.
//!
//! Which group may use the Docker engine's socket differs from machine to machine and is only known at the start, and only
//! root can join a group. So the container starts as root with the capabilities SETUID and SETGID and nothing else, and the
//! first thing that happens here is to become the user of `TOUCHSTONE_RUN_AS` in exactly that group, for good.

use std::env;
use std::fs;
use std::io;

use engine::backend::docker::socket;
use rustix::process::{DumpableBehavior, Gid, Uid, geteuid, getuid, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, set_capabilities, set_no_new_privs, set_thread_groups,
    set_thread_res_gid, set_thread_res_uid,
};

use crate::output::CommandError;

/// Names the user and the group to become: `UID:GID`.
const VARIABLE: &str = "TOUCHSTONE_RUN_AS";

/// The reason why root was not dropped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DropError {
    /// The variable does not name a user.
    #[error("{VARIABLE} is `{0}`; it takes the numbers of a user and a group other than root, such as 1000:1000")]
    Account(String),
    /// The kernel refused a step.
    #[error(
        "started as root, and cannot {step}: {cause}; give the container the capabilities SETUID and SETGID (`cap_add`), or start it as an unprivileged user in the group of the Docker socket"
    )]
    Refused {
        /// The step that failed.
        step: &'static str,
        /// The kernel's error.
        cause: io::Error,
    },
    /// Some privilege of root is left.
    #[error("started as root, and after becoming an unprivileged user {0}; not going on")]
    Remains(String),
}

impl From<DropError> for CommandError {
    fn from(error: DropError) -> Self {
        match error {
            DropError::Account(_) => Self::Usage(error.to_string()),
            DropError::Refused { .. } | DropError::Remains(_) => Self::Infrastructure(error.to_string()),
        }
    }
}

/// The user to become, with the one group besides its own.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Account {
    user: u32,
    group: u32,
    joined: Option<u32>,
}

/// Becomes the user that the environment names, when this process is root's. Has to be called before there are threads:
/// the kernel changes the user of one thread at a time.
pub(crate) fn drop_root() -> Result<(), DropError> {
    let Some(named) = env::var_os(VARIABLE).filter(|named| !named.is_empty()) else { return Ok(()) };
    let mut account = Account::parse(&named.to_string_lossy())?;
    if !getuid().is_root() && !geteuid().is_root() {
        return Ok(());
    }
    account.joined = socket::path().and_then(|path| socket::group_to_join(&path, account.user, account.group));
    Status::read()?.require_one_thread()?;
    account.assume()?;
    Status::read()?.require(&account)?;
    require_no_way_back()
}

impl Account {
    fn parse(text: &str) -> Result<Self, DropError> {
        let number = |text: &str| text.parse().ok().filter(|number| *number != 0 && *number != u32::MAX);
        let parsed = text.split_once(':').and_then(|(user, group)| Some((number(user)?, number(group)?)));
        let (user, group) = parsed.ok_or_else(|| DropError::Account(scenario::untrusted::line(text, 100)))?;
        Ok(Self { user, group, joined: None })
    }

    /// Becomes this user, step by step. The order matters: each step needs rights that a later one removes.
    fn assume(&self) -> Result<(), DropError> {
        let step = |step: &'static str, done: rustix::io::Result<()>| {
            done.map_err(|cause| DropError::Refused { step, cause: cause.into() })
        };
        let (user, group) = (Uid::from_raw(self.user), Gid::from_raw(self.group));
        let joined: Vec<Gid> = self.joined.into_iter().map(Gid::from_raw).collect();
        // Ambient capabilities would go on to every program that is started.
        step("clear the ambient capabilities", clear_ambient_capability_set())?;
        // Groups first: who is not root any more may not change them. Those that root came with are gone with this.
        step("leave root's groups", set_thread_groups(&joined))?;
        step("become another group", set_thread_res_gid(group, group, group))?;
        // Real, effective and saved: with one of them left, it could become root again. The kernel takes permitted and
        // effective capabilities away with this.
        step("become another user", set_thread_res_uid(user, user, user))?;
        // Unless it was told to keep them; and the inheritable ones stay in any case.
        let none = CapabilitySet::empty();
        let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
        step("give up all capabilities", set_capabilities(None, none))?;
        // The bounding set may only be changed with SETPCAP, which is not asked for. Without new privileges, no program
        // with a set-user-ID bit or file capabilities makes anything of it.
        step("rule out new privileges", set_no_new_privs(true))?;
        // Changing the user gave the files in /proc/self to root. They belong to whoever this process is now.
        step("own its files in /proc", set_dumpable_behavior(DumpableBehavior::Dumpable))
    }
}

/// Tries to become root again, which must not work.
fn require_no_way_back() -> Result<(), DropError> {
    let root = (Uid::from_raw(0), Gid::from_raw(0));
    if set_thread_res_uid(root.0, root.0, root.0).is_ok() || set_thread_res_gid(root.1, root.1, root.1).is_ok() {
        return Err(DropError::Remains("it could become root again".to_owned()));
    }
    Ok(())
}

/// The kernel's description of this process, by the names of `/proc/self/status`.
#[derive(Debug)]
struct Status(String);

impl Status {
    fn read() -> Result<Self, DropError> {
        let step = "read /proc/self/status";
        fs::read_to_string("/proc/self/status").map(Self).map_err(|cause| DropError::Refused { step, cause })
    }

    /// The words after a name; none when there is no such line.
    fn words(&self, name: &str) -> Vec<&str> {
        let mut lines = self.0.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(found, _)| *found == name);
        found.map(|(_, words)| words.split_whitespace().collect()).unwrap_or_default()
    }

    fn require_one_thread(&self) -> Result<(), DropError> {
        match self.words("Threads")[..] {
            ["1"] => Ok(()),
            _ => Err(DropError::Remains("other threads would stay root's".to_owned())),
        }
    }

    /// Refuses every value that is not exactly as required, and every value that the kernel does not report.
    fn require(&self, account: &Account) -> Result<(), DropError> {
        let four = |number: u32| format!("{number} {number} {number} {number}");
        let groups = account.joined.map(|group| group.to_string()).unwrap_or_default();
        self.require_words("Uid", &four(account.user))?;
        self.require_words("Gid", &four(account.group))?;
        self.require_words("Groups", &groups)?;
        for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            self.require_words(set, "0000000000000000")?;
        }
        self.require_words("NoNewPrivs", "1")
    }

    fn require_words(&self, name: &str, expected: &str) -> Result<(), DropError> {
        let found = self.words(name).join(" ");
        if found == expected && self.0.contains(&format!("{name}:")) {
            return Ok(());
        }
        Err(DropError::Remains(format!("its {name} is `{found}` instead of `{expected}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::{Account, Status};

    const CLEAN: &str = "Name:\ttouchstone\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\nGroups:\t998 \nThreads:\t1\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t00000000000000c0\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\n";

    #[test]
    fn an_account_is_two_numbers_and_never_root() {
        let account = Account::parse("1000:100").expect("an account");
        assert_eq!((account.user, account.group, account.joined), (1000, 100, None));
        for wrong in ["root", "1000", "0:0", "0:1000", "1000:0", "1000:4294967295", "1000:1000:5", "-1:1", ":"] {
            let problem = Account::parse(wrong).expect_err(wrong).to_string();
            assert!(problem.contains(wrong) && problem.contains("1000:1000"), "{problem}");
        }
    }

    #[test]
    fn whatever_of_root_remains_is_named() {
        let account = Account { user: 1000, group: 1000, joined: Some(998) };
        let check = |from: &str, to: &str, named: &str| {
            assert!(CLEAN.contains(from), "{from}");
            let problem = Status(CLEAN.replacen(from, to, 1)).require(&account).expect_err(named).to_string();
            assert!(problem.contains(named) && problem.contains("not going on"), "{problem}");
        };
        Status(CLEAN.to_owned()).require(&account).expect("nothing remains");
        check("Uid:\t1000\t1000\t1000", "Uid:\t1000\t1000\t0", "its Uid is `1000 1000 0 1000`");
        check("1000\nGid", "0\nGid", "its Uid");
        check("Gid:\t1000", "Gid:\t0", "its Gid");
        check("998 ", "0 998 ", "its Groups is `0 998` instead of `998`");
        check("998 ", "", "its Groups");
        for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            check(&format!("{set}:\t00"), &format!("{set}:\t01"), set);
        }
        check("NoNewPrivs:\t1", "NoNewPrivs:\t0", "NoNewPrivs");
        check("CapEff:", "Other:", "its CapEff is ``");
        let alone = Account { joined: None, ..account };
        let silent = Status(CLEAN.replace("Groups:\t998 \n", ""));
        assert!(silent.require(&alone).is_err(), "what the kernel does not tell is not taken for well");
        Status(CLEAN.replace("998 ", "")).require(&alone).expect("no groups");
    }

    #[test]
    fn a_process_with_threads_does_not_go_on() {
        Status(CLEAN.to_owned()).require_one_thread().expect("one");
        Status(CLEAN.replace("Threads:\t1", "Threads:\t12")).require_one_thread().expect_err("twelve");
    }
}
