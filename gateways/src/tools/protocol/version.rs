//! Versions of the protocol.

use serde_json::Value as Json;

use super::message::{RpcError, RpcRequest};

/// The key of a request's `_meta` that names its version.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// The key of a request's `_meta` that lists its client's capabilities.
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// A version of the protocol. Later ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::tools) enum Version {
    /// 2025-03-26.
    March2025,
    /// 2025-06-18.
    June2025,
    /// 2025-11-25, the last one with sessions.
    November2025,
    /// 2026-07-28, the first one without.
    July2026,
}

impl Version {
    const ALL: [Self; 4] = [Self::March2025, Self::June2025, Self::November2025, Self::July2026];

    /// Its name.
    pub(in crate::tools) fn name(self) -> &'static str {
        match self {
            Self::March2025 => "2025-03-26",
            Self::June2025 => "2025-06-18",
            Self::November2025 => "2025-11-25",
            Self::July2026 => "2026-07-28",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.name() == name)
    }

    /// The names of all versions, the newest first.
    pub(in crate::tools) fn names() -> Vec<&'static str> {
        Self::ALL.iter().rev().map(|version| version.name()).collect()
    }

    /// The version of a session whose client wants this one: that one if it is known, else the newest one with sessions.
    pub(in crate::tools) fn of_session(wanted: &str) -> Self {
        Self::named(wanted).filter(|version| *version <= Self::November2025).unwrap_or(Self::November2025)
    }
}

/// The era of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tools) enum Era {
    /// The request belongs to a session, or begins one.
    Session,
    /// The request stands alone.
    Alone(Version),
}

impl Era {
    /// The era that the body of a request speaks of.
    pub(in crate::tools) fn of(request: &RpcRequest) -> Result<Self, RpcError> {
        let meta = &request.params["_meta"];
        let Some(wanted) = meta.get(VERSION_KEY) else {
            return match request.method.as_str() {
                "server/discover" | "subscriptions/listen" => Err(RpcError::no_meta(VERSION_KEY)),
                _ => Ok(Self::Session),
            };
        };
        let wanted = wanted.as_str().ok_or_else(|| RpcError::no_meta(VERSION_KEY))?;
        match Version::named(wanted) {
            Some(version) if version >= Version::July2026 => {
                let has_capabilities = meta.get(CAPABILITIES_KEY).is_some_and(Json::is_object);
                has_capabilities.then_some(Self::Alone(version)).ok_or_else(|| RpcError::no_meta(CAPABILITIES_KEY))
            }
            Some(_) => Ok(Self::Session),
            None => Err(RpcError::unsupported_version(wanted, &Version::names())),
        }
    }

    /// True for a request that stands alone.
    pub(in crate::tools) fn is_alone(self) -> bool {
        self.alone().is_some()
    }

    /// The version of a request that stands alone.
    pub(in crate::tools) fn alone(self) -> Option<Version> {
        match self {
            Self::Alone(version) => Some(version),
            Self::Session => None,
        }
    }
}
