//! Vectors that a model gave for two texts, to compare what they mean.

use serde::{Deserialize, Serialize};

use super::blob::Blob;
use super::marker::without_key;
use super::usage::Usage;

/// The texts whose vectors a model is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbeddingRequest {
    /// The model.
    pub model: String,
    /// The text to compare with.
    pub expected: String,
    /// The text that is judged.
    pub text: String,
}

impl EmbeddingRequest {
    /// The request without the key of the redaction markers, which is different in each attempt.
    #[must_use]
    pub fn normalised(&self, marker_key: Option<&str>) -> Self {
        let same = |text: &str| without_key(text, marker_key);
        Self { model: self.model.clone(), expected: same(&self.expected), text: same(&self.text) }
    }
}

/// The answer of a model of embeddings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EmbeddingAnswer {
    /// The vectors, or why there are none.
    pub reply: EmbeddingReply,
    /// The cost of the call.
    #[serde(default)]
    pub usage: Usage,
    /// True when the vectors were given for the same texts before, and cost nothing.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub cached: bool,
}

/// The vectors of two texts, or why there are none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmbeddingReply {
    /// The vectors of the text to compare with and of the text that is judged.
    Vectors(Embedding, Embedding),
    /// The model does not take the text that is judged, although it takes the other: that counts against the agent.
    Refused(String),
    /// The model is unavailable, and nobody is at fault.
    Unavailable(String),
}

#[cfg(test)]
impl EmbeddingReply {
    /// Vectors with these numbers, for tests.
    pub(crate) fn vectors(one: &[f32], other: &[f32]) -> Self {
        let vector = |numbers| Embedding::new(numbers).expect("a vector");
        Self::Vectors(vector(one), vector(other))
    }
}

/// A vector of a text: numbers of four bytes, the lowest byte first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Embedding(Blob);

impl Embedding {
    /// The vector with these numbers; `None` when it has no direction.
    #[must_use]
    pub fn new(numbers: &[f32]) -> Option<Self> {
        let has_direction = numbers.iter().any(|number| *number != 0.0) && numbers.iter().all(|one| one.is_finite());
        has_direction.then(|| Self(Blob(numbers.iter().flat_map(|number| number.to_le_bytes()).collect())))
    }

    /// The number of its dimensions.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.0.0.len() / size_of::<f32>()
    }

    /// The cosine of the angle between two vectors; `None` when they do not belong together.
    #[must_use]
    pub fn cosine(&self, other: &Self) -> Option<f64> {
        let product = |one: &Self, other: &Self| one.numbers().zip(other.numbers()).map(|(a, b)| a * b).sum::<f64>();
        let cosine = product(self, other) / (product(self, self) * product(other, other)).sqrt();
        (self.dimensions() == other.dimensions() && cosine.is_finite()).then_some(cosine)
    }

    fn numbers(&self) -> impl Iterator<Item = f64> {
        let number = |bytes: &[u8]| bytes.try_into().map(f32::from_le_bytes).unwrap_or_default();
        self.0.0.chunks(size_of::<f32>()).map(move |bytes| f64::from(number(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::Embedding;

    #[test]
    fn the_cosine_is_that_of_the_numbers_and_survives_being_kept() {
        let vector = |numbers: &[f32]| Embedding::new(numbers).expect("a vector");
        let (one, other) = (vector(&[3.0, 4.0]), vector(&[4.0, 3.0]));
        assert_eq!((one.cosine(&other), one.cosine(&one), one.dimensions()), (Some(0.96), Some(1.0), 2));
        assert_eq!(vector(&[1.0, 0.0]).cosine(&vector(&[-1.0, 0.0])), Some(-1.0));
        assert_eq!(one.cosine(&vector(&[1.0])), None);
        let kept = serde_json::to_string(&one).expect("JSON");
        assert_eq!(serde_json::from_str::<Embedding>(&kept).expect("a vector"), one);
        for nothing in [&[][..], &[0.0, 0.0], &[f32::NAN, 1.0]] {
            assert_eq!(Embedding::new(nothing), None);
        }
    }
}
