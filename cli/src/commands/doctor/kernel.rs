//! Checks of the kernel, for sandboxes without Docker and for checks beside the worker.

use std::fs;
use std::path::PathBuf;

use landlock::{ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _};

use super::Finding;

/// The folder in which the kernel describes itself.
struct Kernel {
    root: PathBuf,
}

/// Looks at the kernel of this machine.
pub(super) fn look() -> Vec<Finding> {
    let kernel = Kernel { root: PathBuf::from("/") };
    let mut findings = vec![kernel.user_namespaces(), kernel.overlay(), kernel.cgroups(), kernel.seccomp()];
    findings.push(landlock());
    findings
}

impl Kernel {
    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok().map(|text| text.trim().to_owned())
    }

    fn user_namespaces(&self) -> Finding {
        const WHAT: &str = "user namespaces";
        let says = |path: &str, value: &str| self.read(path).is_some_and(|text| text == value);
        if !self.root.join("proc/self/ns/user").exists() {
            return Finding::warn(WHAT, "this kernel has none", "`--backend local` needs them; use Docker");
        }
        if says("proc/sys/user/max_user_namespaces", "0") {
            return Finding::warn(WHAT, "are switched off", "sysctl -w user.max_user_namespaces=15000");
        }
        if says("proc/sys/kernel/unprivileged_userns_clone", "0") {
            return Finding::warn(
                WHAT,
                "are for root only",
                "sysctl -w kernel.unprivileged_userns_clone=1, or be root",
            );
        }
        if says("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
            let fix = "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or be root";
            return Finding::warn(WHAT, "are restricted by AppArmor for everybody but root", fix);
        }
        Finding::ok(WHAT, "can be made")
    }

    fn overlay(&self) -> Finding {
        const WHAT: &str = "overlay";
        let known =
            self.read("proc/filesystems").is_some_and(|text| text.lines().any(|line| line.ends_with("overlay")));
        if known {
            return Finding::ok(WHAT, "is there");
        }
        Finding::warn(WHAT, "the kernel does not know it", "modprobe overlay")
    }

    fn cgroups(&self) -> Finding {
        const WHAT: &str = "control groups";
        const FIX: &str = "be root, or have a group of your own (systemd-run --user --scope); Docker does without it";
        let (controllers, version) = match self.read("sys/fs/cgroup/cgroup.controllers") {
            Some(controllers) => (controllers, 2),
            None => (self.read("proc/cgroups").unwrap_or_default(), 1),
        };
        let missing: Vec<_> =
            ["memory", "pids", "cpu"].into_iter().filter(|name| !controllers.contains(name)).collect();
        if !missing.is_empty() {
            let found = format!("version {version}, without {}", missing.join(", "));
            return Finding::warn(
                WHAT,
                found,
                "without them, limits of sandboxes without Docker hold for each process only; enable them in the kernel",
            );
        }
        let folder = if version == 2 { "sys/fs/cgroup" } else { "sys/fs/cgroup/memory" };
        let is_writable = rustix::fs::access(self.root.join(folder), rustix::fs::Access::WRITE_OK).is_ok();
        if is_writable {
            return Finding::ok(WHAT, format!("version {version}"));
        }
        Finding::warn(
            WHAT,
            format!("version {version}, not open to this user: limits without Docker hold for each process only"),
            FIX,
        )
    }

    fn seccomp(&self) -> Finding {
        const WHAT: &str = "seccomp";
        let status = self.read("proc/self/status").unwrap_or_default();
        if status.lines().any(|line| line.starts_with("Seccomp:")) {
            return Finding::ok(WHAT, "is there");
        }
        Finding::warn(WHAT, "this kernel has none", "use a kernel with CONFIG_SECCOMP_FILTER")
    }
}

/// Checks Landlock by creating a set of rules, which is not applied.
fn landlock() -> Finding {
    const WHAT: &str = "landlock";
    let made = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(Ruleset::create);
    match made {
        Ok(_) => Finding::ok(WHAT, "is there"),
        Err(error) => {
            let fix = "checks with `runs_in: host` cannot be confined, and are not run; boot with `lsm=landlock,…`";
            Finding::warn(WHAT, error.to_string(), fix)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::Kernel;
    use crate::commands::doctor::finding::{Finding, State};

    /// A kernel that says this.
    fn kernel(files: &[(&str, &str)], look: impl FnOnce(&Kernel) -> Finding) -> Finding {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        look(&Kernel { root: folder.path().to_owned() })
    }

    #[test]
    fn a_kernel_that_lacks_something_is_told_with_a_fix() {
        for (file, text, told) in [
            ("proc/sys/user/max_user_namespaces", "0\n", "switched off"),
            ("proc/sys/kernel/unprivileged_userns_clone", "0\n", "for root only"),
            ("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n", "AppArmor"),
        ] {
            let found = kernel(&[("proc/self/ns/user", ""), (file, text)], Kernel::user_namespaces);
            assert!(found.state == State::Warn && found.line().contains(told) && found.fix.is_some(), "{found:?}");
        }
        assert_eq!(kernel(&[("proc/self/ns/user", "")], Kernel::user_namespaces).state, State::Ok);
        assert_eq!(kernel(&[], Kernel::user_namespaces).state, State::Warn);
        assert_eq!(kernel(&[("proc/filesystems", "nodev\ttmpfs\nnodev\toverlay\n")], Kernel::overlay).state, State::Ok);
        assert_eq!(kernel(&[("proc/filesystems", "\text4\n")], Kernel::overlay).state, State::Warn);
        assert_eq!(kernel(&[("proc/self/status", "Seccomp:\t0\n")], Kernel::seccomp).state, State::Ok);
        assert_eq!(kernel(&[], Kernel::seccomp).state, State::Warn);
        let lacking = kernel(&[("sys/fs/cgroup/cgroup.controllers", "cpu pids\n")], Kernel::cgroups);
        assert!(lacking.line().contains("version 2, without memory"), "{lacking:?}");
        let whole = kernel(&[("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n")], Kernel::cgroups);
        assert_eq!(whole.state, State::Ok);
    }
}
