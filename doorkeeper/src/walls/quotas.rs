//! Limits that the kernel counts for each user of the machine. One box must not use them up for all others.

use std::fs;

/// The least part of each that a box gets.
const PART: u64 = 8;
/// The limited resources: the limit of each user of the machine, the limit of a user namespace for all of its users,
/// and an amount that is enough for any box.
const QUOTAS: [(&str, &str, u64); 2] = [
    ("/proc/sys/fs/inotify/max_user_instances", "/proc/sys/user/max_inotify_instances", 16),
    ("/proc/sys/fs/inotify/max_user_watches", "/proc/sys/user/max_inotify_watches", 8192),
];

/// Limits this user namespace, and those in it, to a part of their owner's quota. A program that asks for more is
/// refused by the kernel as if that were all there is (`EMFILE`, `ENOSPC`).
///
/// Where `/proc` is not writable, as in some containers, only the kernel's own limit holds.
pub(super) fn share_out() {
    for (all, own, enough) in QUOTAS {
        let there = fs::read_to_string(all).ok().and_then(|text| text.trim().parse().ok());
        if let Some(there) = there {
            let _ = fs::write(own, part(there, enough).to_string());
        }
    }
}

/// Returns the part of a box: an eighth; at least an amount that is enough for it, as long as that is not more than
/// half.
fn part(there: u64, enough: u64) -> u64 {
    (there / PART).max(enough.min(there / 2))
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn a_part_leaves_most_to_others_and_is_enough_where_it_can_be() {
        assert_eq!([128, 1024, 20, 0].map(|there| part(there, 16)), [16, 128, 10, 0]);
    }
}
