//! Plan of a box that the doorkeeper makes around itself, where there is no container engine.
//!
//! The worker writes a plan to the doorkeeper's standard input: fields that end with a zero byte, first a word, then
//! its arguments. Paths of the host come from the worker, and paths in the box begin at its root.

use std::fmt;

/// The argument with which the doorkeeper reads a plan, and makes its box.
pub const BOX: &str = "--box";
/// The argument with which it makes namespaces from a first plan, and waits for the whole one.
///
/// Most of the time that a box takes is over then. Of the first plan only users, groups and control groups count, and
/// [`WAIT`] ends it.
pub const SPARE: &str = "--spare";
/// End of the first plan of a box that waits.
pub const WAIT: &[u8] = b"wait\0";

/// A box to make.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// An empty folder of the host, on which the box's root is put together. Nothing of that is seen outside.
    pub stage: String,
    /// Maps users of the box to users of the host; beside another box, to users of that one, or nothing when they are
    /// the same.
    pub users: Vec<Ids>,
    /// Maps groups in the same way.
    pub groups: Vec<Ids>,
    /// Another box, whose users and network this one shares.
    pub beside: Option<Beside>,
    /// Folders of control groups that the box is in.
    pub cgroups: Vec<String>,
    /// Limits that hold where there are no control groups.
    pub ceilings: Option<Ceilings>,
    /// Its name, as it calls itself.
    pub host_name: String,
    /// Number of bytes that may be written over the layers of the box.
    pub space: u64,
    /// Steps that put its root together, in order.
    pub steps: Vec<Step>,
    /// Folders of the host that stay open as the descriptors from [`FIRST_OPEN`] on.
    pub open: Vec<String>,
    /// The worker's socket, in the box.
    pub socket: String,
    /// A path in the box whose space is watched.
    pub watched: String,
}

/// The namespaces of another box that a box is in: where they are found on the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beside {
    /// User namespace.
    pub users: String,
    /// Network namespace.
    pub network: String,
}

/// The namespaces of a box, in the order in which they are reported after the folders.
pub const NAMESPACES: [&str; 6] = ["user", "mnt", "pid", "net", "ipc", "uts"];

/// The descriptor of the first of [`Plan::open`].
pub const FIRST_OPEN: u32 = 100;

/// Users or groups of a box, and of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ids {
    /// The first one in the box.
    pub inside: u32,
    /// The first one on the host.
    pub outside: u32,
    /// Size of the range.
    pub count: u32,
}

/// Limits that the kernel keeps without control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceilings {
    /// Bytes of private memory that each process may have.
    pub memory: u64,
    /// Number of processes.
    pub processes: u64,
    /// Number of processors that they run on.
    pub cores: usize,
}

/// A step towards the root of a box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A folder of the host, over which the box writes elsewhere.
    Layer {
        /// Path in the box.
        target: String,
        /// The folder of the host.
        lower: String,
    },
    /// A file or folder of the host as it is.
    Bind {
        /// Path in the box.
        target: String,
        /// The file or folder of the host.
        source: String,
        /// True when the box may write there.
        writable: bool,
    },
    /// An empty folder in memory.
    Memory {
        /// Path in the box.
        target: String,
        /// Capacity in bytes.
        bytes: u64,
        /// Permissions.
        mode: u32,
    },
    /// The processes of the box, without the entries that concern the host.
    Processes,
    /// The devices that every program expects.
    Devices,
    /// A folder.
    Folder {
        /// Path in the box.
        target: String,
        /// Permissions.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Path in the box.
        target: String,
        /// Target of the link.
        to: String,
    },
    /// Makes the files at a place read-only; mounts below it stay as they were.
    Seal {
        /// Path in the box.
        target: String,
    },
}

/// A plan cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable(String);

impl fmt::Display for Unreadable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the plan of the box cannot be read at `{}`", self.0)
    }
}

impl std::error::Error for Unreadable {}

impl Plan {
    /// The plan as bytes. Texts must have no zero byte: paths cannot have one.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |word: &str, fields: &[&str]| {
            for field in [word].iter().chain(fields) {
                bytes.extend_from_slice(field.as_bytes());
                bytes.push(0);
            }
        };
        put("stage", &[&self.stage]);
        for (word, all) in [("users", &self.users), ("groups", &self.groups)] {
            for ids in all {
                put(word, &[&ids.inside.to_string(), &ids.outside.to_string(), &ids.count.to_string()]);
            }
        }
        if let Some(Beside { users, network }) = &self.beside {
            put("beside", &[users, network]);
        }
        for cgroup in &self.cgroups {
            put("cgroup", &[cgroup]);
        }
        if let Some(Ceilings { memory, processes, cores }) = self.ceilings {
            put("ceilings", &[&memory.to_string(), &processes.to_string(), &cores.to_string()]);
        }
        put("host-name", &[&self.host_name]);
        put("space", &[&self.space.to_string()]);
        for step in &self.steps {
            match step {
                Step::Layer { target, lower } => put("layer", &[target, lower]),
                Step::Bind { target, source, writable } => {
                    put(if *writable { "bind" } else { "bind-read-only" }, &[target, source]);
                }
                Step::Memory { target, bytes, mode } => {
                    put("memory", &[target, &bytes.to_string(), &mode.to_string()]);
                }
                Step::Processes => put("processes", &[]),
                Step::Devices => put("devices", &[]),
                Step::Folder { target, mode } => put("folder", &[target, &mode.to_string()]),
                Step::Link { target, to } => put("link", &[target, to]),
                Step::Seal { target } => put("seal", &[target]),
            }
        }
        for folder in &self.open {
            put("open", &[folder]);
        }
        put("socket", &[&self.socket]);
        put("watched", &[&self.watched]);
        bytes
    }

    /// Reads a plan.
    pub fn decode(bytes: &[u8]) -> Result<Self, Unreadable> {
        let bytes = bytes.strip_suffix(b"\0").ok_or_else(|| Unreadable("its end".to_owned()))?;
        let mut fields = Fields(bytes.split(|byte| *byte == 0));
        let mut plan = Self::default();
        while let Some(word) = fields.0.next() {
            match word {
                b"stage" => plan.stage = fields.text()?,
                b"users" => plan.users.push(fields.ids()?),
                b"groups" => plan.groups.push(fields.ids()?),
                b"beside" => plan.beside = Some(Beside { users: fields.text()?, network: fields.text()? }),
                b"cgroup" => plan.cgroups.push(fields.text()?),
                b"ceilings" => plan.ceilings = Some(fields.ceilings()?),
                b"host-name" => plan.host_name = fields.text()?,
                b"space" => plan.space = fields.number()?,
                b"open" => plan.open.push(fields.text()?),
                b"socket" => plan.socket = fields.text()?,
                b"watched" => plan.watched = fields.text()?,
                step => plan.steps.push(fields.step(step)?),
            }
        }
        Ok(plan)
    }
}

/// The fields of a plan that were not read yet.
struct Fields<I>(I);

impl<'a, I: Iterator<Item = &'a [u8]>> Fields<I> {
    fn text(&mut self) -> Result<String, Unreadable> {
        let field = self.0.next().ok_or_else(|| Unreadable("its end".to_owned()))?;
        String::from_utf8(field.to_vec()).map_err(|_| unreadable(field))
    }

    fn number<N: std::str::FromStr>(&mut self) -> Result<N, Unreadable> {
        let text = self.text()?;
        text.parse().map_err(|_| Unreadable(text))
    }

    fn ids(&mut self) -> Result<Ids, Unreadable> {
        Ok(Ids { inside: self.number()?, outside: self.number()?, count: self.number()? })
    }

    fn ceilings(&mut self) -> Result<Ceilings, Unreadable> {
        Ok(Ceilings { memory: self.number()?, processes: self.number()?, cores: self.number()? })
    }

    fn step(&mut self, word: &[u8]) -> Result<Step, Unreadable> {
        match word {
            b"layer" => Ok(Step::Layer { target: self.text()?, lower: self.text()? }),
            b"bind" => Ok(Step::Bind { target: self.text()?, source: self.text()?, writable: true }),
            b"bind-read-only" => Ok(Step::Bind { target: self.text()?, source: self.text()?, writable: false }),
            b"memory" => Ok(Step::Memory { target: self.text()?, bytes: self.number()?, mode: self.number()? }),
            b"processes" => Ok(Step::Processes),
            b"devices" => Ok(Step::Devices),
            b"folder" => Ok(Step::Folder { target: self.text()?, mode: self.number()? }),
            b"link" => Ok(Step::Link { target: self.text()?, to: self.text()? }),
            b"seal" => Ok(Step::Seal { target: self.text()? }),
            _ => Err(unreadable(word)),
        }
    }
}

fn unreadable(field: &[u8]) -> Unreadable {
    Unreadable(String::from_utf8_lossy(field).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{Beside, Ceilings, Ids, Plan, Step};

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let at = |path: &str| path.to_owned();
        let plan = Plan {
            stage: at("/a b"),
            users: vec![Ids { inside: 0, outside: 7, count: 1 }],
            groups: vec![Ids { inside: 0, outside: 8, count: 1 }, Ids { inside: 1, outside: 100_000, count: 9 }],
            beside: Some(Beside { users: at("/u"), network: at("/n") }),
            cgroups: vec![at("/sys/x"), at("/sys/y")],
            ceilings: Some(Ceilings { memory: 1 << 30, processes: 64, cores: 2 }),
            host_name: at("box"),
            space: u64::MAX,
            steps: vec![
                Step::Layer { target: at("/"), lower: at("/l:o,w") },
                Step::Bind { target: at("/x"), source: at("/y"), writable: true },
                Step::Bind { target: at("/x"), source: at("/y"), writable: false },
                Step::Memory { target: at("/tmp"), bytes: 5, mode: 0o1777 },
                Step::Processes,
                Step::Devices,
                Step::Folder { target: at("/home"), mode: 0o755 },
                Step::Link { target: at("/bin"), to: at("usr/bin") },
                Step::Seal { target: at("/") },
            ],
            open: vec![at("/proc/1/root")],
            socket: at("/door"),
            watched: at("/workspace"),
        };
        assert_eq!(Plan::decode(&plan.encode()), Ok(plan));
    }

    #[test]
    fn what_is_no_plan_is_refused() {
        for bytes in [b"stage".as_slice(), b"wall\0", b"users\x000\0x\x001\0", b"layer\0/\0", b"stage\0\xff\0"] {
            assert!(Plan::decode(bytes).is_err(), "{bytes:?}");
        }
    }
}
