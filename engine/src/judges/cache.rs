//! Replies of judges that were given before, by what was asked.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use scenario::evidence::{EmbeddingRequest, JudgeRequest};
use scenario::hex;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use crate::providers::Upstream;

/// Changes with the form of what is asked or kept: older replies are not found then.
const VERSION: u32 = 1;
/// Largest size of a file in the cache.
const MOST_BYTES: u64 = 1024 * 1024;

/// The folder in which replies are kept, a file for each question.
#[derive(Debug, Clone)]
pub(super) struct Cache<'a>(pub(super) &'a Path);

#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    model: String,
    reply: String,
}

/// A question that can be compared: what does not change its answer is not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question(String);

impl Question {
    /// The question of this sample, by the request without what is different in each attempt.
    pub(super) fn new(upstream: &Upstream, request: &JudgeRequest, marker_key: Option<&str>, sample: usize) -> Self {
        let same = request.normalised(marker_key);
        let model = upstream.model.as_deref().unwrap_or(&request.model);
        let asked = json!([VERSION, upstream.base_url, model, same.temperature, same.system, same.prompt, sample]);
        Self::of(&asked)
    }

    /// The question for the vectors of two texts.
    pub(super) fn of_vectors(upstream: &Upstream, request: &EmbeddingRequest, marker_key: Option<&str>) -> Self {
        let same = request.normalised(marker_key);
        let model = upstream.model.as_deref().unwrap_or(&request.model);
        Self::of(&json!([VERSION, "embeddings", upstream.base_url, model, same.expected, same.text]))
    }

    fn of(asked: &Json) -> Self {
        Self(hex(Sha256::digest(asked.to_string())))
    }
}

impl Question {
    /// The question for a prompt that a model writes.
    pub(super) fn of_prompt(upstream: &Upstream, request: &JudgeRequest, seed: u64) -> Self {
        let model = upstream.model.as_deref().unwrap_or(&request.model);
        let asked = json!(["prompt", VERSION, upstream.base_url, model, request.system, request.prompt, seed]);
        Self(hex(Sha256::digest(asked.to_string())))
    }
}

impl Cache<'_> {
    /// The reply that was given to this question. What cannot be read is as good as not there.
    pub(super) fn get(&self, question: &Question) -> Option<String> {
        let path = self.path(question);
        fs::metadata(&path).ok().filter(|file| file.len() <= MOST_BYTES)?;
        let kept: Kept = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
        Some(kept.reply)
    }

    /// Keeps a reply; readers see all of it or nothing.
    pub(super) fn put(&self, question: &Question, model: &str, reply: &str) -> io::Result<()> {
        let path = self.path(question);
        let folder = path.parent().unwrap_or(self.0);
        fs::create_dir_all(folder)?;
        let kept = Kept { model: model.to_owned(), reply: reply.to_owned() };
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&serde_json::to_vec(&kept)?)?;
        file.persist(path).map(drop).map_err(|error| error.error)
    }

    fn path(&self, question: &Question) -> PathBuf {
        let (shelf, rest) = question.0.split_at(2);
        self.0.join(shelf).join(format!("{rest}.json"))
    }
}
