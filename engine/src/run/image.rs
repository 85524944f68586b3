//! State of a sandbox's image before and after the agent, outside scratch folders, and the changes between.

use std::collections::BTreeMap;

use doorkeeper::protocol::{Entry, EntryKind, Fingerprint};
use scenario::evidence::Evidence;

use crate::backend::{is_above_scratch, is_scratch};
use crate::error::EngineError;
use crate::snapshot::{Compared, MOST_COMPARED};
use crate::world::World;

/// Number of changed paths that are kept.
const MOST_CHANGES: usize = 200;
/// Number of paths changed by the setup that are looked at.
const MOST_LOOKED_AT: usize = 50_000;
/// Number of entries of `/dev` that are looked at.
const MOST_DEVICES: u64 = 10_000;
/// Folders of programs and the files that they read: a change there says more than one anywhere else.
const TELLING: [&str; 7] = ["/bin/", "/dev/", "/etc/", "/lib", "/root/", "/sbin/", "/usr/"];

/// Differences from the image at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct ImageState {
    paths: BTreeMap<Vec<u8>, Mark>,
    /// Reason why there can be more than is known.
    unseen: Option<String>,
}

/// Mark of a path that shows if it was changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Mark {
    /// Differs when the path was changed; where it does not, the content can.
    number: i64,
    /// The content, where the number does not tell everything.
    content: Content,
}

/// Content of a path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Content {
    /// The number of the path tells everything.
    #[default]
    Told,
    /// The content is to be looked at, and was not: there were too many.
    NotLookedAt,
    /// The path was removed.
    Absent,
    /// The fingerprint of the content.
    Found(Fingerprint),
}

/// Changes of the agent in the image.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Changes {
    /// The paths, as far as they are kept; those that say most come first.
    paths: Vec<String>,
    /// Number of further paths.
    more: u64,
    /// Reason why there can be others that nobody saw.
    unseen: Option<String>,
}

/// Writes down what the agent changed.
pub(super) fn record(evidence: &mut Evidence, changes: Changes) {
    evidence.image_changes = changes.paths;
    evidence.more_image_changes = changes.more;
    evidence.image_unseen = changes.unseen;
}

impl ImageState {
    /// Records the changes before the agent starts.
    pub(crate) async fn take(world: &World) -> Result<Self, EngineError> {
        let mut state = Self::list(world).await?;
        let open = state.paths_where(|_, _| true);
        state.look(world, open).await?;
        Ok(state)
    }

    /// Records the changes again, as far as it is not known yet what was changed.
    pub(crate) async fn take_after(world: &World, before: &Self) -> Result<Self, EngineError> {
        let mut state = Self::list(world).await?;
        let open = state.paths_where(|path, mark| {
            before.paths.get(path).is_some_and(|earlier| {
                earlier.number == mark.number && !matches!(earlier.content, Content::Told | Content::NotLookedAt)
            })
        });
        state.look(world, open).await?;
        Ok(state)
    }

    /// Lists what is different, outside scratch folders.
    async fn list(world: &World) -> Result<Self, EngineError> {
        let changes = world.sandbox.image_changes().await?;
        let mark = |number| {
            let is_told = number != 0 && changes.times_tell;
            Mark { number, content: if is_told { Content::Told } else { Content::NotLookedAt } }
        };
        let paths = changes.paths.into_iter().filter(|(path, _)| is_part_of_image(path));
        let paths = paths.map(|(path, number)| (path, mark(number))).collect();
        let unseen =
            changes.incomplete.then(|| "more paths of the image were changed than can be looked at".to_owned());
        let mut state = Self { paths, unseen };
        state.add_devices(world).await?;
        Ok(state)
    }

    /// Adds the entries of `/dev`, which is in no layer: an agent that is root can put something else in their place.
    async fn add_devices(&mut self, world: &World) -> Result<(), EngineError> {
        let listed = world.sandbox.door().walk("/dev", b".", MOST_DEVICES, true).await;
        let listed = listed.map_err(EngineError::door("look at the devices of the sandbox"))?;
        if listed.incomplete {
            self.unseen = Some(format!("/dev holds more than {MOST_DEVICES} entries"));
        }
        let number = |entry: &Entry| i64::from(entry.mode) << 40 | entry.inode.cast_signed() & ((1 << 40) - 1);
        for entry in listed.entries {
            let path = [b"/dev/", entry.path.as_slice()].concat();
            if is_part_of_image(&path) {
                // A terminal is used without being changed.
                let content = if entry.kind == EntryKind::File { Content::NotLookedAt } else { Content::Told };
                self.paths.insert(path, Mark { number: number(&entry), content });
            }
        }
        Ok(())
    }

    /// The paths whose number does not tell everything.
    fn paths_where(&self, is_wanted: impl Fn(&[u8], &Mark) -> bool) -> Vec<Vec<u8>> {
        let wanted = |(path, mark): &(&Vec<u8>, &Mark)| mark.content == Content::NotLookedAt && is_wanted(path, mark);
        self.paths.iter().filter(wanted).map(|(path, _)| path.clone()).collect()
    }

    /// Takes fingerprints of paths, unless there are too many.
    async fn look(&mut self, world: &World, mut paths: Vec<Vec<u8>>) -> Result<(), EngineError> {
        if paths.len() > MOST_LOOKED_AT {
            let all = paths.len();
            self.unseen = Some(format!(
                "of {all} paths of the image that were changed before the agent started, only {MOST_LOOKED_AT} are compared"
            ));
            paths.truncate(MOST_LOOKED_AT);
        }
        let relative = paths.iter().map(|path| path.strip_prefix(b"/").unwrap_or(path).to_vec()).collect();
        let found = world.sandbox.door().fingerprints("/", relative, MOST_COMPARED).await;
        let found = found.map_err(EngineError::door("look at what was changed in the image"))?;
        for (path, found) in paths.iter().zip(found) {
            if let Some(mark) = self.paths.get_mut(path) {
                mark.content = found.map_or(Content::Absent, Content::Found);
            }
        }
        Ok(())
    }

    /// Returns the differences in `later`: paths that are new, gone, or replaced.
    pub(super) fn changes(&self, later: &Self) -> Changes {
        let mut unseen = self.unseen.clone().or_else(|| later.unseen.clone());
        let mut different: Vec<&[u8]> = Vec::new();
        let mut not_compared = 0_u64;
        for (path, mark) in &later.paths {
            match self.paths.get(path).map_or(Compared::Different, |earlier| earlier.compare(mark)) {
                Compared::Same => {}
                Compared::Different => different.push(path),
                Compared::Unknown => not_compared += 1,
            }
        }
        different.extend(self.paths.keys().filter(|path| !later.paths.contains_key(*path)).map(Vec::as_slice));
        different.sort_unstable();
        if not_compared > 0 {
            unseen.get_or_insert_with(|| {
                format!("{not_compared} files of the image were changed before the agent started and are too much to compare")
            });
        }
        let (paths, more) = listed(&different);
        Changes { paths, more, unseen }
    }
}

impl Mark {
    fn compare(&self, later: &Self) -> Compared {
        if self.number != later.number {
            return Compared::Different;
        }
        match (&self.content, &later.content) {
            (Content::Told, Content::Told) | (Content::Absent, Content::Absent) => Compared::Same,
            (Content::Found(before), Content::Found(after)) => Compared::of(Some(before), Some(after)),
            (Content::NotLookedAt, _) | (_, Content::NotLookedAt) => Compared::Unknown,
            _ => Compared::Different,
        }
    }
}

/// Returns true if a change at a path modifies the image.
fn is_part_of_image(path: &[u8]) -> bool {
    let path = String::from_utf8_lossy(path);
    !is_scratch(&path) && !is_above_scratch(&path)
}

/// The paths that are kept, and how many more there are; without the folders that are only there because of what is in them.
fn listed(paths: &[&[u8]]) -> (Vec<String>, u64) {
    let shown: Vec<_> = paths.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
    let holds = |path: &str, next: &String| next.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
    let is_parent = |index: usize, path: &str| {
        // Between a folder and what is in it, only names that begin like the folder's can stand.
        shown[index + 1..].iter().take_while(|next| next.starts_with(path)).any(|next| holds(path, next))
    };
    let kept = shown.iter().enumerate().filter(|(index, path)| !is_parent(*index, path)).map(|(_, path)| path.clone());
    let is_telling = |path: &String| TELLING.iter().any(|folder| path.starts_with(folder));
    let (mut kept, others): (Vec<_>, Vec<_>) = kept.partition(is_telling);
    kept.extend(others);
    let more = kept.len().saturating_sub(MOST_CHANGES) as u64;
    kept.truncate(MOST_CHANGES);
    (kept, more)
}

#[cfg(test)]
mod tests {
    use doorkeeper::protocol::Fingerprint;

    use super::{Content, ImageState, Mark, is_part_of_image};

    fn state<'a>(list: impl IntoIterator<Item = (&'a str, i64)>) -> ImageState {
        with_contents(list.into_iter().map(|(path, number)| (path, number, Content::Told)))
    }

    fn with_contents<'a>(list: impl IntoIterator<Item = (&'a str, i64, Content)>) -> ImageState {
        let marks = list.into_iter().map(|(path, number, content)| (path.into(), Mark { number, content }));
        ImageState { paths: marks.filter(|(path, _): &(Vec<u8>, _)| is_part_of_image(path)).collect(), unseen: None }
    }

    fn content(byte: u8, whole: bool) -> Content {
        Content::Found(Fingerprint { digest: [byte; 32], whole })
    }

    #[test]
    fn what_the_agent_changed_is_told_from_what_setup_changed() {
        let before = state([("/opt", 1), ("/opt/agent", 1), ("/etc/hosts", 1), ("/srv/removed", 1)]);
        let after = state([
            ("/opt", 2),
            ("/opt/agent", 2),
            ("/opt/agent/new", 2),
            ("/opt-2", 2),
            ("/etc/hosts", 1),
            ("/tmp/x", 2),
            ("/usr", 2),
            ("/usr/bin", 2),
            ("/usr/bin/ls", 2),
            ("/workspace", 2),
        ]);
        let changes = before.changes(&after);
        assert_eq!(changes.paths, ["/usr/bin/ls", "/opt-2", "/opt/agent/new", "/srv/removed"]);
        assert_eq!((changes.more, changes.unseen), (0, None));
    }

    #[test]
    fn a_changed_program_does_not_hide_behind_many_files() {
        let many: Vec<_> = (0..500).map(|number| format!("/aaa/{number}")).collect();
        let after = state(many.iter().map(|path| (path.as_str(), 1)).chain([("/usr/bin/ls", 1)]));
        let changes = ImageState::default().changes(&after);
        assert_eq!((changes.paths[0].as_str(), changes.paths.len(), changes.more), ("/usr/bin/ls", 200, 301));
        assert!(changes.paths.iter().all(|path| path.starts_with('/')));
    }

    #[test]
    fn contents_are_compared_where_times_do_not_tell() {
        let before = with_contents([
            ("/etc/same", 1, content(1, true)),
            ("/etc/mapped", 1, content(2, true)),
            ("/etc/gone", 0, content(3, true)),
            ("/etc/removed", 0, Content::Absent),
        ]);
        let after = with_contents([
            ("/etc/same", 1, content(1, true)),
            ("/etc/mapped", 1, content(9, true)),
            ("/etc/gone", 0, Content::Absent),
            ("/etc/removed", 0, Content::Absent),
        ]);
        let changes = before.changes(&after);
        assert_eq!(
            (changes.paths.as_slice(), changes.unseen),
            (["/etc/gone", "/etc/mapped"].map(str::to_owned).as_slice(), None)
        );
    }

    #[test]
    fn what_was_not_compared_is_said() {
        for unknown in [Content::NotLookedAt, content(1, false)] {
            let state = with_contents([("/etc/large", 1, unknown)]);
            let changes = state.changes(&state);
            assert!(changes.paths.is_empty() && changes.unseen.is_some(), "{changes:?}");
        }
        let crowded = ImageState { unseen: Some("too many".to_owned()), ..ImageState::default() };
        assert_eq!(ImageState::default().changes(&crowded).unseen.as_deref(), Some("too many"));
    }
}
