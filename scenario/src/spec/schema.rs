//! The language as JSON Schema 2020-12, for editors.

use serde_json::{Map, Value as Json, json};

use super::Sections;
use super::reader::Readable;
use super::shape::{Field, Section, Shape, Tagged};

/// The schema of a spec. It knows the form of every value; rules that need more than one value are `validate`'s.
#[must_use]
pub fn schema() -> Json {
    let mut definitions = Map::new();
    let Shape::Section(root) = Sections::shape() else {
        unreachable!("a spec is a section");
    };
    let mut schema = object(&root, &mut definitions);
    schema["patternProperties"] = json!({ "^x-": true });
    let mut document = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Touchstone spec",
    });
    merge(&mut document, schema);
    document["$defs"] = Json::Object(definitions);
    document
}

/// The schema of a document of another kind.
pub(crate) fn schema_of(title: &str, shape: &Shape) -> Json {
    let mut definitions = Map::new();
    let mut document = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "title": title });
    let schema = match shape {
        Shape::Section(section) => object(section, &mut definitions),
        other => of(other, &mut definitions),
    };
    merge(&mut document, schema);
    document["$defs"] = Json::Object(definitions);
    document
}

fn merge(into: &mut Json, from: Json) {
    if let (Json::Object(into), Json::Object(from)) = (into, from) {
        into.extend(from);
    }
}

fn of(shape: &Shape, definitions: &mut Map<String, Json>) -> Json {
    match shape {
        Shape::Any => json!({}),
        Shape::Bool => json!({ "type": "boolean" }),
        Shape::Integer { min, max } => bounded("integer", *min, *max, i64::MIN, i64::MAX),
        Shape::Number { min, max } => bounded("number", *min, *max, f64::NEG_INFINITY, f64::INFINITY),
        Shape::Text => json!({ "type": ["string", "number", "boolean"] }),
        Shape::Filled => json!({ "type": ["string", "number", "boolean"], "pattern": r"\S" }),
        Shape::Word { pattern, example, .. } => json!({ "type": "string", "pattern": pattern, "examples": [example] }),
        Shape::Choice(choices) => json!({
            "oneOf": choices.iter().map(|choice| json!({ "const": choice.word, "description": choice.doc })).collect::<Vec<_>>()
        }),
        Shape::List { item, least, most } => {
            json!({ "type": "array", "items": of(item, definitions), "minItems": least, "maxItems": most })
        }
        Shape::Map { key, value, least, most } => json!({
            "type": "object",
            "propertyNames": { "pattern": key },
            "additionalProperties": of(value, definitions),
            "minProperties": least,
            "maxProperties": most,
        }),
        Shape::Section(section) => define(section.name, definitions, |definitions| object(section, definitions)),
        Shape::Tagged(tagged) => define(tagged.name, definitions, |definitions| variants(tagged, definitions)),
        Shape::ByTag(tagged) => by_tag(tagged, definitions),
        Shape::Either(shapes) => {
            json!({ "anyOf": shapes.iter().map(|shape| of(shape, definitions)).collect::<Vec<_>>() })
        }
    }
}

fn bounded<T: PartialEq + Into<Json>>(kind: &str, min: T, max: T, lowest: T, highest: T) -> Json {
    let mut schema = json!({ "type": kind });
    if min != lowest {
        schema["minimum"] = min.into();
    }
    if max != highest {
        schema["maximum"] = max.into();
    }
    schema
}

/// Puts a named schema among the definitions once, and refers to it.
fn define(name: &str, definitions: &mut Map<String, Json>, make: impl FnOnce(&mut Map<String, Json>) -> Json) -> Json {
    if !definitions.contains_key(name) {
        definitions.insert(name.to_owned(), Json::Null);
        let made = make(definitions);
        definitions.insert(name.to_owned(), made);
    }
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn object(section: &Section, definitions: &mut Map<String, Json>) -> Json {
    closed(&section.doc, &section.fields.iter().collect::<Vec<_>>(), definitions)
}

fn closed(doc: &str, fields: &[&Field], definitions: &mut Map<String, Json>) -> Json {
    let properties: Map<_, _> =
        fields.iter().map(|field| (field.key.to_owned(), property(field, definitions))).collect();
    let required: Vec<_> = fields.iter().filter(|field| field.required).map(|field| field.key).collect();
    json!({ "type": "object", "description": doc, "properties": properties, "required": required, "additionalProperties": false })
}

fn property(field: &Field, definitions: &mut Map<String, Json>) -> Json {
    let mut schema = of(&field.shape, definitions);
    schema["description"] = field.doc.clone().into();
    if let Some(default) = field.default.as_ref().filter(|default| !default.is_null()) {
        schema["default"] = default.clone();
    }
    schema
}

/// One alternative for each variant, chosen by the tag, so that editors complain about the variant that was meant.
fn variants(tagged: &Tagged, definitions: &mut Map<String, Json>) -> Json {
    let words: Vec<_> = tagged.variants.iter().map(|(word, _)| *word).collect();
    let mut rules = Vec::new();
    for (word, section) in &tagged.variants {
        let fields: Vec<_> = tagged.common.iter().chain(&section.fields).collect();
        let mut then = closed(&section.doc, &fields, definitions);
        then["properties"][tagged.tag] =
            json!({ "enum": if tagged.absent == Some(word) { json!([word, ""]) } else { json!([word]) } });
        rules.push(json!({ "if": selects(tagged, word), "then": then }));
    }
    let mut allowed: Vec<Json> = words.iter().map(|word| (*word).into()).collect();
    if tagged.absent.is_some() {
        allowed.push("".into());
    }
    let required: Vec<&str> = if tagged.absent.is_some() { Vec::new() } else { vec![tagged.tag] };
    json!({
        "type": "object",
        "description": tagged.doc,
        "properties": { tagged.tag: { "enum": allowed } },
        "required": required,
        "allOf": rules,
    })
}

/// One property for each variant, without the tag.
fn by_tag(tagged: &Tagged, definitions: &mut Map<String, Json>) -> Json {
    let property = |(word, section): &(&'static str, Section)| {
        let fields: Vec<_> = tagged.common.iter().chain(&section.fields).collect();
        ((*word).to_owned(), closed(&section.doc, &fields, definitions))
    };
    let properties: Map<_, _> = tagged.variants.iter().map(property).collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// The condition under which a variant is meant.
fn selects(tagged: &Tagged, word: &str) -> Json {
    if tagged.absent == Some(word) {
        return json!({ "properties": { tagged.tag: { "enum": [word, ""] } } });
    }
    json!({ "properties": { tagged.tag: { "const": word } }, "required": [tagged.tag] })
}
