//! Sealing: what is kept so that only who has the master key can read it.

use std::fmt;

use aes_gcm::aead::{Aead as _, KeyInit as _, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use hmac::{Hmac, Mac as _};
use scenario::hex;
use sha2::Sha256;

use crate::Store;
use crate::error::StoreError;

/// The length of a master key in bytes.
const KEY: usize = 32;
/// The block size of SHA-256 in bytes.
const BLOCK: usize = 64;
/// The length of the nonce that makes each sealing different.
const NONCE: usize = 12;
/// The first byte of a sealed value: the version of its format.
const VERSION: u8 = 1;
/// The setting with the fingerprint of the master key.
const FINGERPRINT: &str = "master_key";

/// The key that seals values and derives the tokens by which our processes know each other.
#[derive(Clone)]
pub struct MasterKey([u8; KEY]);

impl fmt::Debug for MasterKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("MasterKey")
    }
}

impl MasterKey {
    /// The key with these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; KEY]) -> Self {
        Self(bytes)
    }

    /// Reads a key: 32 bytes as 64 hex digits, or in base64.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        let text = text.trim();
        let bytes = unhex(text).or_else(|| {
            [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD].iter().find_map(|way| way.decode(text).ok())
        });
        let key = bytes.and_then(|bytes| <[u8; KEY]>::try_from(bytes).ok());
        key.map(Self).ok_or_else(|| {
            // The text itself is not for messages.
            StoreError::Invalid(format!("the secret key must be {KEY} bytes: 64 hex digits, or base64"))
        })
    }

    /// The key as text, for its file.
    #[must_use]
    pub fn to_hex(&self) -> String {
        hex(self.0)
    }

    /// Seals a value. It can be opened with the same words only, which say what it is for. The nonce is random, and never
    /// used again.
    pub fn seal(&self, plain: &[u8], words: &str, nonce: [u8; NONCE]) -> Result<Vec<u8>, StoreError> {
        let payload = Payload { msg: plain, aad: words.as_bytes() };
        let sealed = self.cipher().encrypt(&Nonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| StoreError::Invalid("a secret is too large to be sealed".to_owned()))?;
        Ok([&[VERSION], nonce.as_slice(), &sealed].concat())
    }

    /// Opens a value that was sealed with this key for the same words.
    pub fn open(&self, sealed: &[u8], words: &str) -> Result<Vec<u8>, StoreError> {
        let broken = || StoreError::Damaged(format!("the secret of `{words}` cannot be opened with the secret key"));
        let Some((&VERSION, rest)) = sealed.split_first() else { return Err(broken()) };
        let (nonce, rest) = rest.split_first_chunk::<NONCE>().ok_or_else(broken)?;
        let payload = Payload { msg: rest, aad: words.as_bytes() };
        self.cipher().decrypt(&Nonce::from(*nonce), payload).map_err(|_| broken())
    }

    /// A fingerprint that identifies this key and reveals nothing else about it.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        self.derive("fingerprint")[..32].to_owned()
    }

    /// Derives the token of a worker's control port.
    #[must_use]
    pub fn control_token(&self, worker: &str) -> String {
        self.derive(&format!("control {worker}"))
    }

    /// Derives the key that signs the messages of an alert.
    #[must_use]
    pub fn webhook_secret(&self, alert: &str) -> String {
        self.derive(&format!("webhook {alert}"))
    }

    /// Derives a mark that identifies a request and reveals nothing else about it: it may hold secrets.
    #[must_use]
    pub fn mark(&self, request: &str) -> String {
        self.derive(&format!("request {request}"))
    }

    fn cipher(&self) -> Aes256Gcm {
        Aes256Gcm::new(&self.0.into())
    }

    /// Something that only who has the key can make, in hex.
    fn derive(&self, words: &str) -> String {
        // A key that is shorter than a block is filled up with zeros: the same as with any length, but it cannot fail.
        let mut block = [0; BLOCK];
        block[..KEY].copy_from_slice(&self.0);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(words.as_bytes());
        hex(mac.finalize().into_bytes())
    }
}

impl Store {
    /// Refuses a master key other than the one with which this database was first used.
    pub async fn require_master_key(&self, key: &MasterKey) -> Result<(), StoreError> {
        let fingerprint = key.fingerprint();
        if self.set_setting_once(FINGERPRINT, &fingerprint).await? == fingerprint {
            return Ok(());
        }
        Err(StoreError::Conflict(
            "this database belongs to another secret key: give the one with which it was first used (TOUCHSTONE_SECRET_KEY, --secret-key-file, or secret.key in the data directory)"
                .to_owned(),
        ))
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.chars().map(|digit| digit.to_digit(16)?.try_into().ok()).collect::<Option<_>>()?;
    (digits.len() == 2 * KEY).then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
