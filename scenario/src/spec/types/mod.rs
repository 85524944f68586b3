//! The small types that sections are made of. Each carries its own rule, so that what was read can be used.

mod amount;
mod base_url;
mod command;
mod duration;
mod error;
mod filled;
mod json_schema;
mod path;
mod pattern;
mod size;
mod table;
mod time_shift;
mod value;
mod word;

pub use amount::{Confidence, Cpu, Dollars, ErrorRate, Fraction, PassRate, Percent, Temperature, Weight, Whole};
pub use base_url::{BaseUrl, BaseUrlError};
pub use command::{Command, OneOrMany};
pub use duration::Timespan;
pub use error::{GlobError, ImagePathError, PatternError, WorkspacePathError};
pub use filled::Filled;
pub use json_schema::{JsonSchema, SchemaError, SchemaValidator};
pub use path::{BundlePath, ImagePath, SandboxPath, WorkspaceGlob, WorkspacePath};
pub use pattern::{Glob, Matching, Pattern, PatternSource};
pub use size::Bytes;
pub use table::{Many, Table};
pub use time_shift::TimeShift;
pub use value::Value;
pub use word::{
    ArgumentName, CalledTool, ChaosName, CheatName, EnvName, FileMode, FindingCode, HeaderName, HostGlob, HostName,
    InvariantName, JsonPath, Label, Method, Moment, NameGlob, PackageName, ParamName, PathPrefix, ReplayName,
    RequestPath, SecretName, ServiceGlob, ServiceName, SpecId, SqlState, TableName, ToolGlob, ToolName, UrlGlob,
    UserName, Word,
};
