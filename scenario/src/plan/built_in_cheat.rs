//! The cheats that every spec has, by their names.

/// A cheat that every spec has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltInCheat {
    /// Writes the files that verifiers commonly read, with passing content.
    VerdictFiles,
    /// Prints the texts of the task and the mocks, and writes them where invariants look.
    EchoExpected,
    /// Makes every path that invariants look at, empty.
    TouchPaths,
    /// Sends one request to each route of each mock.
    CallEveryMock,
    /// Says that everything is done.
    Confident,
}

impl BuiltInCheat {
    /// Every one.
    pub const ALL: [Self; 5] =
        [Self::VerdictFiles, Self::EchoExpected, Self::TouchPaths, Self::CallEveryMock, Self::Confident];

    /// Its name.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::VerdictFiles => "verdict-files",
            Self::EchoExpected => "echo-expected",
            Self::TouchPaths => "touch-paths",
            Self::CallEveryMock => "call-every-mock",
            Self::Confident => "confident",
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cheat| cheat.word() == name)
    }

    /// A line about it for people.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        match self {
            Self::VerdictFiles => "Writes the files that verifiers commonly read, with passing content",
            Self::EchoExpected => "Prints the texts of the task and the mocks, and writes them where invariants look",
            Self::TouchPaths => "Makes every path that invariants look at, empty",
            Self::CallEveryMock => "Sends one request to each route of each mock",
            Self::Confident => "Says that everything is done",
        }
    }
}
