//! An experiment of a server, and how it is shown: what `watch` and `results` are given.

use clap::Args;

use crate::client::{RemoteRun, Server, ServerOptions};
use crate::documents::{DocumentOptions, Documents};
use crate::output::{CommandError, Output};
use crate::reference::Reference;

/// An experiment of a server, and how it is shown.
#[derive(Debug, Args)]
pub(crate) struct AtServer {
    /// EXPERIMENT or EXPERIMENT#RUN: the experiment's id, the beginning or end of it, `latest`, or `latest~1` for the one
    /// before it.
    #[arg(value_name = "REFERENCE")]
    reference: Reference,
    #[command(flatten)]
    documents: DocumentOptions,
    #[command(flatten)]
    server: ServerOptions,
}

impl AtServer {
    /// The server, and the documents that are wanted, once it is known that they can be written.
    pub(crate) fn open(&self, output: &mut Output) -> Result<(Server, Documents), CommandError> {
        let documents = self.documents.check(output)?;
        Ok((self.server.required("; `touchstone show` shows what was run on this machine")?, documents))
    }

    /// The run that is meant.
    pub(crate) async fn find(&self, server: &Server) -> Result<RemoteRun, CommandError> {
        server.find(&self.reference).await
    }
}
