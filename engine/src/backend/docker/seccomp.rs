//! The system calls that programs in a container may make, as Docker wants to be told.
//!
//! The same list that the doorkeeper filters by where it makes the box itself ([`doorkeeper::calls`]). Docker's own profile has
//! other holes in every version, and lets programs of other interfaces to the same kernel in (32 bits, x32), for which a filter
//! cannot see what they ask for. Here there is the machine's own interface only.

use std::sync::LazyLock;

use doorkeeper::calls::{ABSENT, Call, FAMILIES, NAMESPACES, OF_FAMILIES, OF_FLAGS, REFUSED, allowed};
use rustix::io::Errno;
use serde_json::{Value as Json, json};

/// The highest family of sockets that the kernel has.
const LAST_FAMILY: i32 = 46;

/// The option that gives a container this profile.
pub(super) fn option() -> String {
    static OPTION: LazyLock<String> = LazyLock::new(|| format!("seccomp={}", profile(std::env::consts::ARCH)));
    OPTION.clone()
}

/// The profile for an architecture.
fn profile(arch: &str) -> Json {
    let has_conditions = |call: &Call| OF_FAMILIES.contains(call) || OF_FLAGS.contains(call);
    let free: Vec<Call> = allowed().filter(|call| !has_conditions(call)).collect();
    let mut rules = vec![
        rule(&free, allow(), None),
        rule(
            OF_FLAGS,
            allow(),
            Some(json!({"index": 0, "value": NAMESPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"})),
        ),
        rule(REFUSED, refuse(Errno::PERM), None),
        rule(ABSENT, refuse(Errno::NOSYS), None),
    ];
    rules.extend(families());
    json!({
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": Errno::NOSYS.raw_os_error(),
        "architectures": [format!("SCMP_ARCH_{}", arch.to_uppercase())],
        "syscalls": rules,
    })
}

/// Rules on families of sockets. The whole argument is compared, so that no bits that the kernel does not look at hide one.
fn families() -> impl Iterator<Item = Json> {
    let is = |family: i32| json!({"index": 0, "value": family, "op": "SCMP_CMP_EQ"});
    let known = (0..=LAST_FAMILY).map(move |family| {
        let action = if FAMILIES.contains(&family) { allow() } else { refuse(Errno::AFNOSUPPORT) };
        rule(OF_FAMILIES, action, Some(is(family)))
    });
    let above = json!({"index": 0, "value": LAST_FAMILY + 1, "op": "SCMP_CMP_GE"});
    known.chain([rule(OF_FAMILIES, refuse(Errno::AFNOSUPPORT), Some(above))])
}

fn allow() -> Json {
    json!({"action": "SCMP_ACT_ALLOW"})
}

fn refuse(answer: Errno) -> Json {
    json!({"action": "SCMP_ACT_ERRNO", "errnoRet": answer.raw_os_error()})
}

/// A rule on calls, when their arguments meet a condition.
fn rule(calls: &[Call], mut action: Json, condition: Option<Json>) -> Json {
    action["names"] = calls.iter().map(Call::name).collect();
    if let Some(condition) = condition {
        action["args"] = json!([condition]);
    }
    action
}

#[cfg(test)]
mod tests {
    use super::profile;

    #[test]
    fn a_profile_is_a_list_of_what_is_allowed() {
        let profile = profile("x86_64");
        assert_eq!(
            (profile["defaultAction"].as_str(), &profile["defaultErrnoRet"]),
            (Some("SCMP_ACT_ERRNO"), &38.into())
        );
        assert_eq!(profile["architectures"], serde_json::json!(["SCMP_ARCH_X86_64"]), "neither 32 bits nor x32");
        let rules = profile["syscalls"].as_array().expect("rules");
        let names = |call: &str| {
            let about = |rule: &&serde_json::Value| {
                rule["names"].as_array().is_some_and(|names| names.iter().any(|name| name == call))
            };
            rules.iter().filter(about).cloned().collect::<Vec<_>>()
        };
        let action = |call: &str| names(call).iter().map(|rule| rule["errnoRet"].as_i64()).collect::<Vec<_>>();
        assert_eq!(action("read"), [None]);
        assert_eq!([action("io_uring_setup"), action("unshare")], [[Some(1)], [Some(1)]]);
        assert_eq!([action("io_setup"), action("clone3")], [[Some(38)], [Some(38)]]);
        let allowed: Vec<_> = names("socket").into_iter().filter(|rule| rule["action"] == "SCMP_ACT_ALLOW").collect();
        let families: Vec<_> = allowed.iter().map(|rule| rule["args"][0]["value"].as_i64()).collect();
        assert_eq!(families, [Some(1), Some(2), Some(10), Some(16)]);
        assert!(allowed.iter().all(|rule| rule["args"][0]["op"] == "SCMP_CMP_EQ"));
        assert_eq!(names("socket"), names("socketpair"));
        assert_eq!(names("clone")[0]["args"][0]["value"], 0x7e02_0000);
    }
}
