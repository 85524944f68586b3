//! A second wall around the files of a box: even through a mount or a descriptor that leads out of it, only files below
//! its root can be opened. The kernel's Landlock does that, where it exists.

use doorkeeper::plan::{FIRST_OPEN, Plan};
use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, PathBeneath, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, Scope,
};
use rustix::fd::OwnedFd;

use super::{NoBox, open_folder};

/// Newest version of Landlock that is used; an older kernel does what it can.
const KNOWN: ABI = ABI::V6;

/// Confines this process and its children to the files below its root, and to the folders that it was given. Processes
/// outside cannot be signalled, nor reached by sockets without a path.
pub(super) fn enclose(plan: &Plan) -> Result<(), NoBox> {
    let root = open_folder("/")?;
    let given = (FIRST_OPEN..).zip(&plan.open).map(|(number, _)| open_folder(&format!("/proc/self/fd/{number}")));
    restrict(root, given.collect::<Result<_, _>>()?).map_err(NoBox::Land)
}

fn restrict(root: OwnedFd, given: Vec<OwnedFd>) -> Result<(), RulesetError> {
    let all = AccessFs::from_all(KNOWN);
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .scope(Scope::from_all(KNOWN))?
        .create()?;
    let mut ruleset = ruleset.add_rule(PathBeneath::new(root, all))?;
    for folder in given {
        ruleset = ruleset.add_rule(PathBeneath::new(folder, AccessFs::from_read(KNOWN)))?;
    }
    ruleset.restrict_self().map(|_| ())
}
