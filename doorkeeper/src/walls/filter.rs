//! The system calls that nobody in a box may make, and those that nobody may make on the doorkeeper.

use std::collections::BTreeMap;

use doorkeeper::calls::{Call, FAMILIES, NAMESPACES, OF_FAMILIES, OF_FLAGS, REFUSED, allowed};
use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

/// Calls that are refused when their first argument is the doorkeeper: its limits, its turn and its life are its own, also where
/// it shares its user with the agent. (In a container it never does.)
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

/// Rules by the number of a call; one without rules is meant whatever its arguments are.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Filters the calls of this process and of all that it makes, for good. Where several filters refuse a call, the answer is that
/// of the last one.
pub(super) fn install() -> Result<(), Errno> {
    let all = |calls: &[Call]| calls.iter().map(|call| (call.number, Vec::new())).collect::<Rules>();
    apply(allowed().map(|call| (call.number, Vec::new())).collect(), refusing(Errno::NOSYS), SeccompAction::Allow)?;
    let mut refused = all(REFUSED);
    for call in NOT_ON_DOORKEEPER {
        refused.insert(call, vec![rule(&[(0, SeccompCmpOp::Eq, 1)])?]);
    }
    // The priority of a process is named by its kind first.
    refused.insert(libc::SYS_setpriority, vec![rule(&[(1, SeccompCmpOp::Eq, 1)])?]);
    for call in OF_FLAGS {
        let flags = (0..i32::BITS).map(|bit| 1 << bit).filter(|flag| u64::from(NAMESPACES.cast_unsigned()) & flag != 0);
        let masked = flags.map(|flag| rule(&[(0, SeccompCmpOp::MaskedEq(flag), flag)]));
        refused.insert(call.number, masked.collect::<Result<_, _>>()?);
    }
    apply(refused, SeccompAction::Allow, refusing(Errno::PERM))?;
    let other = FAMILIES.map(|family| (0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())));
    let families =
        OF_FAMILIES.iter().map(|call| Ok((call.number, vec![rule(&other)?]))).collect::<Result<_, Errno>>()?;
    apply(families, SeccompAction::Allow, refusing(Errno::AFNOSUPPORT))
}

/// A rule that holds when all of its conditions do: on an argument, of which the kernel takes the lower half too.
fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, Errno> {
    let condition = |(argument, operator, value): &(u8, SeccompCmpOp, u64)| {
        SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, operator.clone(), *value)
    };
    let conditions = conditions.iter().map(condition).collect::<Result<_, _>>().map_err(|_| Errno::INVAL)?;
    SeccompRule::new(conditions).map_err(|_| Errno::INVAL)
}

fn refusing(answer: Errno) -> SeccompAction {
    SeccompAction::Errno(answer.raw_os_error().unsigned_abs())
}

/// Installs a filter: the action for calls that match no rule, and for those that do.
fn apply(rules: Rules, otherwise: SeccompAction, matched: SeccompAction) -> Result<(), Errno> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|_| Errno::NOSYS)?;
    let filter = SeccompFilter::new(rules, otherwise, matched, arch).map_err(|_| Errno::INVAL)?;
    let program: BpfProgram = filter.try_into().map_err(|_| Errno::INVAL)?;
    seccompiler::apply_filter(&program).map_err(|_| Errno::INVAL)
}
