//! The place of approvals: a server, or the history of this machine. Both give the same JSON.

use clap::Args;
use serde_json::{Value as Json, json};
use server::ApprovalBody;
use store::{
    Approval, ApprovalFilter, ApprovalStatus, Clock as _, Decided, Decision, DecisionKind, MadeDecision, Page,
};

use crate::client::{MaybeServer, Server, segment};
use crate::clock::SystemClock;
use crate::data_dir::{Home, StoreOption};
use crate::output::CommandError;

/// The key that a decision on this machine is written down with.
const LOCAL: &str = "local";
/// The name that is recorded when the approver gives none.
const NOBODY: &str = "unknown";

/// The options that say which place is meant.
#[derive(Debug, Args)]
pub(super) struct PlaceOptions {
    #[command(flatten)]
    server: MaybeServer,
    #[command(flatten)]
    store: StoreOption,
}

/// A place of approvals.
pub(super) enum Place {
    /// A server has them.
    Server(Server),
    /// This machine.
    Here(Home),
}

/// A decision on what was shown.
pub(super) struct Wanted<'a> {
    /// The decision.
    pub(super) kind: DecisionKind,
    /// The name of the approver; empty when none was given, and a server knows it by the key.
    pub(super) by: &'a str,
    /// The reason.
    pub(super) note: &'a str,
}

impl PlaceOptions {
    pub(super) async fn open(&self) -> Result<Place, CommandError> {
        match self.server.named()? {
            Some(server) => Ok(Place::Server(server)),
            None => Ok(Place::Here(self.store.open().await?)),
        }
    }
}

impl Place {
    /// Approvals, newest first.
    pub(super) async fn list(&self, status: Option<ApprovalStatus>, most: u32) -> Result<Vec<Json>, CommandError> {
        match self {
            Self::Server(server) => {
                let status = status.map(|status| format!("&status={}", status.word())).unwrap_or_default();
                let listed = server.get(&format!("/v1/approvals?limit={most}{status}")).await?;
                Ok(listed["items"].as_array().cloned().unwrap_or_default())
            }
            Self::Here(home) => {
                let filter = ApprovalFilter { status, now: SystemClock.now(), ..ApprovalFilter::default() };
                let page = Page { after: None, most: most.into() };
                home.store.approvals(filter, page).await?.items.iter().map(body).collect()
            }
        }
    }

    /// The approval with this id.
    pub(super) async fn find(&self, id: &str) -> Result<Json, CommandError> {
        match self {
            Self::Server(server) => server.get(&format!("/v1/approvals/{}", segment(id))).await,
            Self::Here(home) => body(&home.store.approval(id).await?.ok_or_else(|| unknown(id))?),
        }
    }

    /// Decides on a call as it was shown; the approval afterwards.
    pub(super) async fn decide(&self, shown: &Json, wanted: &Wanted<'_>) -> Result<Json, CommandError> {
        let text = |name: &str| shown[name].as_str().unwrap_or_default().to_owned();
        let (id, arguments_hash) = (text("id"), text("args_hash"));
        match self {
            Self::Server(server) => {
                let word = if wanted.kind == DecisionKind::Approve { "approve" } else { "deny" };
                let order =
                    json!({"decision": word, "args_hash": arguments_hash, "by": wanted.by, "note": wanted.note});
                server.post(&format!("/v1/approvals/{}/decision", segment(&id)), &order).await
            }
            Self::Here(home) => {
                let by = if wanted.by.trim().is_empty() { NOBODY } else { wanted.by };
                let (by, note) = (by.to_owned(), wanted.note.to_owned());
                let made = MadeDecision { by, key: LOCAL.to_owned(), note };
                let decision = Decision { kind: wanted.kind, arguments_hash, made };
                came(&id, home.store.decide_approval(&id, &decision, SystemClock.now()).await?)
            }
        }
    }
}

fn body(approval: &Approval) -> Result<Json, CommandError> {
    let body = ApprovalBody::of(approval, SystemClock.now());
    serde_json::to_value(body).map_err(|error| CommandError::Infrastructure(error.to_string()))
}

fn unknown(id: &str) -> CommandError {
    CommandError::Usage(format!("there is no approval `{id}`; `touchstone approvals list` shows those that wait"))
}

/// The answer to a decision on this machine.
fn came(id: &str, decided: Decided) -> Result<Json, CommandError> {
    match decided {
        Decided::Decided(approval) => body(&approval),
        Decided::Unknown => Err(unknown(id)),
        Decided::NotPending(approval) => {
            Err(CommandError::Usage(format!("`{id}` is {} already", approval.status.word())))
        }
        Decided::Expired(approval) => {
            Err(CommandError::Usage(format!("the deadline of `{id}`, {}, has passed", approval.new.deadline)))
        }
        Decided::OtherArguments(_) => {
            Err(CommandError::Usage(format!("`{id}` is for other arguments by now; look at it again")))
        }
    }
}
