//! The body of a request as arguments: the fields of a JSON object.

use serde_json::{Map, Value as Json};

use super::Notes;
use super::arguments::Arguments;
use super::document::Document;
use super::operation::Operation;
use super::schema::Inlined;

/// Adds the fields of the body to the arguments. A body that is no JSON object is left out, and so is an operation that needs it.
pub(super) fn add_body(
    arguments: &mut Arguments,
    operation: &Operation<'_>,
    document: &Document,
    notes: &mut Notes,
) -> Result<(), String> {
    let Some(body) = operation.body() else { return Ok(()) };
    let body = document.resolved(body)?;
    let is_required = body.get("required") == Some(&Json::Bool(true));
    let place = operation.place();
    let unfit = |problem: String, notes: &mut Notes| {
        if is_required {
            return Err(problem);
        }
        notes.add(&place, format!("its body is left out: {problem}"));
        Ok(())
    };
    let content = body.get("content").and_then(Json::as_object).cloned().unwrap_or_default();
    let (json, others): (Vec<_>, Vec<_>) = content.iter().partition(|(kind, _)| is_json(kind));
    let names: Vec<_> = others.iter().map(|(kind, _)| format!("`{kind}`")).collect();
    let Some((_, media)) = json.first() else {
        return unfit(format!("it takes {}, and tools send JSON", names.join(", ")), notes);
    };
    if !names.is_empty() {
        notes.add(&place, format!("bodies of {} are left out: the tool sends JSON", names.join(", ")));
    }
    let schema = media.get("schema").cloned().unwrap_or(Json::Bool(true));
    let schema = Inlined::new(document, &place, notes).schema(&schema);
    let Some(object) = Object::of(&schema) else {
        return unfit("its body is no object with fields, and tools send objects".to_owned(), notes);
    };
    if object.properties.is_empty() {
        let is_sent = object.is_open && operation.has_usual_body() && arguments.open();
        return if is_sent { Ok(()) } else { unfit("its body has no fields that are known".to_owned(), notes) };
    }
    if object.is_open {
        notes.add(&place, "further fields of its body are left out");
    }
    for (name, schema) in &object.properties {
        let is_needed = is_required && object.required.contains(name);
        arguments.add_field(name, schema.clone(), is_needed, notes)?;
    }
    Ok(())
}

fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or(kind).trim();
    kind == "application/json" || kind.starts_with("application/") && kind.ends_with("+json") || kind == "*/*"
}

/// The fields of an object.
#[derive(Default)]
struct Object {
    properties: Map<String, Json>,
    required: Vec<String>,
    /// True when the schema says that there may be other fields.
    is_open: bool,
}

impl Object {
    /// The fields that a schema describes, with those of all parts of `allOf`; `None` when it describes something else too.
    fn of(schema: &Json) -> Option<Self> {
        let fields = schema.as_object()?;
        let is_object = fields.get("type").is_none_or(|kind| kind == "object");
        if !is_object || ["oneOf", "anyOf", "not", "if"].iter().any(|key| fields.contains_key(*key)) {
            return None;
        }
        let has_shape =
            ["type", "properties", "allOf", "additionalProperties"].iter().any(|key| fields.contains_key(*key));
        if !has_shape {
            return None;
        }
        let mut object = Self::default();
        for part in fields.get("allOf").and_then(Json::as_array).into_iter().flatten() {
            object.join(Self::of(part)?);
        }
        let own = fields.get("properties").and_then(Json::as_object).cloned().unwrap_or_default();
        let required = fields.get("required").and_then(Json::as_array).into_iter().flatten();
        let required = required.filter_map(Json::as_str).map(ToOwned::to_owned).collect();
        let additional = fields.get("additionalProperties").unwrap_or(&Json::Null);
        // Without the key an object without fields may have any, and one with fields is taken by its word.
        let is_open = match additional {
            Json::Null => own.is_empty() && !fields.contains_key("allOf"),
            Json::Bool(is_open) => *is_open,
            _ => true,
        };
        object.join(Self { properties: own, required, is_open });
        Some(object)
    }

    fn join(&mut self, other: Self) {
        self.properties.extend(other.properties);
        self.required.extend(other.required);
        self.is_open |= other.is_open;
    }
}
