//! The beginning of a connection to Postgres, where messages have no letter yet.

use super::super::{Passed, Unfollowable};

/// Code of a request for TLS.
const TLS: u32 = 80_877_103;
/// Code of a request for encryption by Kerberos.
const GSS: u32 = 80_877_104;
/// Code of a request to cancel what another connection does.
const CANCEL: u32 = 80_877_102;
/// The longest first message.
const LONGEST: usize = 10_000;

/// State of the start of a connection.
#[derive(Debug, Default)]
pub(super) struct Startup {
    kept: Vec<u8>,
    is_over: bool,
    is_cancellation: bool,
    database: Option<String>,
}

impl Startup {
    /// Takes what belongs to the beginning. Encryption is refused here: then clients go on without, if they may.
    pub(super) fn take(&mut self, bytes: &mut &[u8]) -> Result<Passed, Unfollowable> {
        let mut passed = Passed::default();
        while !self.is_over {
            let Some((code, length)) = self.fill(bytes)? else { break };
            match code {
                TLS | GSS if length == 8 => passed.to_client.push(b'N'),
                CANCEL => (self.is_over, self.is_cancellation) = (true, true),
                version if version >> 16 == 3 => {
                    self.is_over = true;
                    self.read_parameters()?;
                }
                _ => return Err(Unfollowable::new("a first message that is not Postgres's, or asks for TLS at once")),
            }
            if self.is_over {
                passed.to_server.extend_from_slice(&self.kept);
            }
            self.kept.clear();
        }
        Ok(passed)
    }

    /// Takes bytes until the first message is complete; its code and its length.
    fn fill(&mut self, bytes: &mut &[u8]) -> Result<Option<(u32, usize)>, Unfollowable> {
        loop {
            let wanted = match self.kept.first_chunk::<4>() {
                None => 4,
                Some(length) => u32::from_be_bytes(*length) as usize,
            };
            let is_possible = self.kept.len() < 4 || (8..=LONGEST).contains(&wanted);
            if !is_possible {
                return Err(Unfollowable::new("a first message that is not Postgres's, or asks for TLS at once"));
            }
            if self.kept.len() >= 8 && self.kept.len() >= wanted {
                let code = [self.kept[4], self.kept[5], self.kept[6], self.kept[7]];
                return Ok(Some((u32::from_be_bytes(code), wanted)));
            }
            let missing = wanted.saturating_sub(self.kept.len()).min(bytes.len());
            if missing == 0 {
                return Ok(None);
            }
            self.kept.extend_from_slice(&bytes[..missing]);
            *bytes = &bytes[missing..];
        }
    }

    /// Names and values, each with a zero at its end. A connection that replicates is not a client's.
    fn read_parameters(&mut self) -> Result<(), Unfollowable> {
        let mut parts = self.kept[8..].split(|byte| *byte == 0).map(String::from_utf8_lossy);
        let mut user = None;
        while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
            match &*name {
                "" => break,
                "user" => user = Some(value.into_owned()),
                "database" => self.database = Some(value.into_owned()),
                "replication" => return Err(Unfollowable::new("a connection for replication")),
                _ => {}
            }
        }
        self.database = self.database.take().or(user);
        Ok(())
    }

    /// The database that the client asked for, once it has.
    pub(super) fn database(&mut self) -> Option<String> {
        self.database.take()
    }

    /// Returns true if it is no connection, but a request to cancel another one.
    pub(super) fn is_cancellation(&self) -> bool {
        self.is_cancellation
    }
}
