//! The system calls that nobody in a box may make: those that reach beyond it, or that few programs need and many attacks use.

use std::collections::BTreeMap;

use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

/// Calls that are refused.
const REFUSED: [i64; 59] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_get_mempolicy,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mbind,
    libc::SYS_migrate_pages,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_move_pages,
    libc::SYS_name_to_handle_at,
    libc::SYS_nfsservctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_personality,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_set_mempolicy,
    libc::SYS_set_mempolicy_home_node,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    libc::SYS_adjtimex,
    libc::SYS_chroot,
    libc::SYS_memfd_secret,
];

/// Calls that are refused when their first argument is the doorkeeper: its limits, its turn and its life are its own, also where
/// it shares its user with the agent.
const NOT_ON_DOORKEEPER: [i64; 10] = [
    libc::SYS_kill,
    libc::SYS_prlimit64,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_tgkill,
    libc::SYS_tkill,
];

/// What `clone` must not make.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

/// Filters the calls of this process and of all that it makes, for good.
pub(super) fn install() -> Result<(), Errno> {
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    for call in NOT_ON_DOORKEEPER {
        refused.insert(call, vec![rule(0, SeccompCmpOp::Eq, 1)?]);
    }
    // The priority of a process is named by its kind first.
    refused.insert(libc::SYS_setpriority, vec![rule(1, SeccompCmpOp::Eq, 1)?]);
    let masked = |flag: &i32| {
        let flag = u64::from(flag.cast_unsigned());
        rule(0, SeccompCmpOp::MaskedEq(flag), flag)
    };
    refused.insert(libc::SYS_clone, NAMESPACES.iter().map(masked).collect::<Result<_, _>>()?);
    apply(refused, Errno::PERM)?;
    // What these are about is in memory or behind a descriptor, which a filter cannot see; programs fall back to `clone` and
    // `kill` when there are no such calls.
    let unseen = [libc::SYS_clone3, libc::SYS_pidfd_send_signal];
    apply(unseen.into_iter().map(|call| (call, Vec::new())).collect(), Errno::NOSYS)
}

fn rule(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, Errno> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value);
    condition.and_then(|condition| SeccompRule::new(vec![condition])).map_err(|_| Errno::INVAL)
}

fn apply(rules: BTreeMap<i64, Vec<SeccompRule>>, answer: Errno) -> Result<(), Errno> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|_| Errno::NOSYS)?;
    let answer = SeccompAction::Errno(answer.raw_os_error().unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, answer, arch).map_err(|_| Errno::INVAL)?;
    let program: BpfProgram = filter.try_into().map_err(|_| Errno::INVAL)?;
    seccompiler::apply_filter(&program).map_err(|_| Errno::INVAL)
}
