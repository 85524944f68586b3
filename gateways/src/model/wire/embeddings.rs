//! OpenAI's embeddings, of a script: vectors that derive from the text alone.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use crate::model::refusal::Refusal;

/// Number of dimensions of a vector unless the request says.
const DIMENSIONS: usize = 1536;
/// Number of dimensions that it may have.
const MOST_DIMENSIONS: usize = 8192;
/// Number of texts that one request may hold.
const MOST_INPUTS: usize = 2048;
/// Number of numbers that one answer may have.
const MOST_NUMBERS: usize = 256 * 1024;

/// The answer to a request for embeddings.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::model) struct Embedding {
    pub(in crate::model) body: Json,
    /// Tokens of the texts, estimated.
    pub(in crate::model) tokens: u64,
}

/// Vectors for the texts of a request. The same text has the same vector, of length 1; different ones are unrelated.
pub(in crate::model) fn embeddings(request: &Json, model: &str) -> Result<Embedding, Refusal> {
    let inputs = inputs(&request["input"])?;
    let dimensions = match &request["dimensions"] {
        Json::Null => DIMENSIONS,
        given => given
            .as_u64()
            .and_then(|given| usize::try_from(given).ok())
            .filter(|given| (1..=MOST_DIMENSIONS).contains(given))
            .ok_or_else(|| Refusal::invalid(format!("`dimensions` must be a number from 1 to {MOST_DIMENSIONS}")))?,
    };
    if inputs.len() * dimensions > MOST_NUMBERS {
        return Err(Refusal::invalid(format!(
            "the answer would have more than {MOST_NUMBERS} numbers; send fewer texts"
        )));
    }
    let base64 = request["encoding_format"] == "base64";
    let tokens = inputs.iter().map(|input| (input.len() as u64).div_ceil(4)).sum();
    let data: Vec<_> = inputs
        .iter()
        .enumerate()
        .map(|(index, input)| json!({"object": "embedding", "index": index, "embedding": encoded(&vector(input, dimensions), base64)}))
        .collect();
    let usage = json!({"prompt_tokens": tokens, "total_tokens": tokens});
    Ok(Embedding { body: json!({"object": "list", "data": data, "model": model, "usage": usage}), tokens })
}

/// The texts: one, a list of them, or tokens, which are taken as their JSON.
fn inputs(input: &Json) -> Result<Vec<String>, Refusal> {
    let is_tokens = |items: &[Json]| items.first().is_some_and(Json::is_number);
    let inputs = match input {
        Json::String(text) => vec![text.clone()],
        Json::Array(items) if is_tokens(items) => vec![input.to_string()],
        Json::Array(items) if items.len() <= MOST_INPUTS => {
            items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), ToOwned::to_owned)).collect()
        }
        _ => Vec::new(),
    };
    if inputs.is_empty() {
        return Err(Refusal::invalid(format!("`input` must be a text, or a list of 1 to {MOST_INPUTS} texts")));
    }
    Ok(inputs)
}

fn vector(text: &str, dimensions: usize) -> Vec<f32> {
    let seed = Sha256::digest(text);
    let mut numbers = Vec::with_capacity(dimensions + 8);
    for block in 0..dimensions.div_ceil(8) as u64 {
        let hash = Sha256::new().chain_update(seed).chain_update(block.to_be_bytes()).finalize();
        let (words, _) = hash.as_slice().as_chunks::<4>();
        // Whole numbers around zero, which a float holds exactly.
        numbers.extend(words.iter().map(|word| f32::from(i16::from_be_bytes([word[0], word[1]]))));
    }
    numbers.truncate(dimensions);
    let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
    numbers.iter().map(|number| if length > 0.0 { number / length } else { *number }).collect()
}

fn encoded(vector: &[f32], base64: bool) -> Json {
    if base64 {
        let bytes: Vec<_> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
        return BASE64_STANDARD.encode(bytes).into();
    }
    vector.iter().map(|number| json!(number)).collect()
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    use serde_json::{Value as Json, json};

    use super::embeddings;

    fn vectors(request: Json) -> Vec<Json> {
        let answer = embeddings(&request, "m").expect("an answer");
        let data = answer.body["data"].as_array().expect("data");
        data.iter().map(|item| item["embedding"].clone()).collect()
    }

    #[test]
    fn a_vector_derives_from_its_text_and_has_length_one() {
        let vectors = vectors(json!({"input": ["a", "b", "a"], "dimensions": 12}));
        assert!(vectors[0] == vectors[2] && vectors[0] != vectors[1]);
        let numbers: Vec<f64> = serde_json::from_value(vectors[0].clone()).expect("numbers");
        let length: f64 = numbers.iter().map(|number| number * number).sum();
        assert!(numbers.len() == 12 && (length - 1.0).abs() < 1e-5, "{length}");
    }

    #[test]
    fn base64_holds_the_same_numbers() {
        let plain: Vec<f32> = serde_json::from_value(vectors(json!({"input": "a"}))[0].clone()).expect("numbers");
        let encoded = vectors(json!({"input": "a", "encoding_format": "base64"}));
        let bytes = BASE64_STANDARD.decode(encoded[0].as_str().expect("a text")).expect("base64");
        let (words, _) = bytes.as_chunks::<4>();
        let decoded: Vec<_> = words.iter().map(|word| f32::from_le_bytes(*word)).collect();
        assert_eq!((decoded.len(), decoded), (1536, plain));
    }

    #[test]
    fn what_cannot_be_embedded_is_refused() {
        for request in [
            json!({}),
            json!({"input": []}),
            json!({"input": vec!["x"; 3000]}),
            json!({"input": "x", "dimensions": 0}),
            json!({"input": "x", "dimensions": "many"}),
            json!({"input": vec!["x"; 2000], "dimensions": 8000}),
        ] {
            assert!(embeddings(&request, "m").is_err());
        }
        assert_eq!(vectors(json!({"input": [[1, 2], [3]], "dimensions": 1})).len(), 2, "tokens");
        assert_eq!(vectors(json!({"input": [1, 2], "dimensions": 1})).len(), 1);
    }
}
