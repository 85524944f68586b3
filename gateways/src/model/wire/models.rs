//! The list of models, and a model that is looked up.

use serde_json::{Value as Json, json};

use super::CREATED;
use crate::model::refusal::Shape;

/// The name of a scripted model in lists. It answers to every other name as well.
const SCRIPTED: &str = "scripted";

/// The list of models, or the one that is looked up: a script answers to any name.
pub(in crate::model) fn models(shape: Shape, looked_up: Option<&str>) -> Json {
    if let Some(id) = looked_up {
        return model(shape, id);
    }
    let data = [model(shape, SCRIPTED)];
    match shape {
        Shape::OpenAi => json!({"object": "list", "data": data}),
        Shape::Anthropic => json!({"data": data, "has_more": false, "first_id": SCRIPTED, "last_id": SCRIPTED}),
    }
}

fn model(shape: Shape, id: &str) -> Json {
    match shape {
        Shape::OpenAi => json!({"id": id, "object": "model", "created": CREATED, "owned_by": "touchstone"}),
        Shape::Anthropic => json!({
            "id": id,
            "type": "model",
            "display_name": id,
            "created_at": "2025-01-01T00:00:00Z",
            "lifecycle": "active",
        }),
    }
}
