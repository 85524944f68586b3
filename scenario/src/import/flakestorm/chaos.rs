//! Faults and attacks, and the cells that they stand in.

use serde_json::{Map, Value as Json, json};

use super::Import;
use super::fields::Fields;
use super::placeholders::name;

/// Keys that say which calls are faulted.
const TRIGGER: [&str; 2] = ["probability", "after_calls"];
/// Modes of tool faults with their own keys.
const TOOL_MODES: [(&str, &[&str]); 5] = [
    ("timeout", &["delay_ms"]),
    ("error", &["error_code", "message"]),
    ("malformed", &[]),
    ("slow", &["delay_ms"]),
    ("malicious_response", &["payload"]),
];
/// Modes of model faults with their own keys.
const LLM_MODES: [(&str, &[&str]); 6] = [
    ("timeout", &["delay_ms"]),
    ("truncated_response", &["max_tokens"]),
    ("rate_limit", &[]),
    ("empty", &[]),
    ("garbage", &[]),
    ("response_drift", &["drift_type", "direction"]),
];
/// Types of attacks with their own keys.
const ATTACKS: [(&str, &[&str]); 5] = [
    ("indirect_injection", &["trigger_probability"]),
    ("memory_poisoning", &["strategy"]),
    ("overflow", &["inject_tokens"]),
    ("conflicting_context", &[]),
    ("injection_via_context", &[]),
];

/// The faults of the file: `chaos`, or `chaos_matrix` when there are cells.
pub(super) fn worlds(file: &Fields<'_>, import: &mut Import) -> Option<(String, Json)> {
    let of_contract = file.section("contract").filter(|contract| contract.get("chaos_matrix").is_some());
    if of_contract.is_some() && file.get("chaos_matrix").is_some() {
        import.note("chaos_matrix", "left out: the contract has its own, and Flakestorm runs no other");
    }
    let cells = match &of_contract {
        Some(contract) => contract.list("chaos_matrix", import),
        None => file.list("chaos_matrix", import),
    };
    let mut cells: Vec<Json> = cells.iter().map(|cell| matrix_cell(cell, import)).collect();
    let everywhere = file.section("chaos").map(|chaos| {
        chaos.note_unknown(&["tool_faults", "llm_faults", "context_attacks"], import);
        faults(&chaos, import)
    });
    match (cells.is_empty(), everywhere.filter(|faults| !faults.is_empty())) {
        (true, None) => None,
        (true, Some(faults)) => Some(("chaos".to_owned(), Json::Object(faults))),
        (false, faults) => {
            if let Some(mut faults) = faults {
                import.note("chaos", "a cell of its own here: cells of the matrix do not have its faults as well");
                faults.shift_insert(0, "name".to_owned(), json!("chaos"));
                cells.push(Json::Object(faults));
            }
            Some(("chaos_matrix".to_owned(), Json::Array(cells)))
        }
    }
}

fn matrix_cell(cell: &Fields<'_>, import: &mut Import) -> Json {
    cell.note_unknown(&["name", "tool_faults", "llm_faults", "context_attacks"], import);
    let called = cell.text("name").unwrap_or_default();
    let short = match name(called, 40) {
        empty if empty.is_empty() => name(&cell.place("cell"), 40),
        short => short,
    };
    if short != called {
        import.note(&cell.place("name"), format!("is `{short}` here, as ids of scenarios are made with it"));
    }
    let mut written = Map::new();
    written.insert("name".to_owned(), json!(short));
    written.extend(faults(cell, import));
    Json::Object(written)
}

/// The faults and attacks of a world.
fn faults(world: &Fields<'_>, import: &mut Import) -> Map<String, Json> {
    let tools: Vec<_> =
        world.list("tool_faults", import).iter().filter_map(|fault| tool_fault(fault, import)).collect();
    let llm: Vec<_> = world.list("llm_faults", import).iter().filter_map(|fault| llm_fault(fault, import)).collect();
    let attacks = attacks(world, import);
    import.needs_model |= !llm.is_empty();
    import.needs_service |= !tools.is_empty() || !attacks.is_empty();
    let parts = [("tool_faults", tools), ("llm_faults", llm), ("context_attacks", attacks)];
    let parts = parts.into_iter().filter(|(_, list)| !list.is_empty());
    parts.map(|(key, list)| (key.to_owned(), Json::Array(list))).collect()
}

fn tool_fault(fault: &Fields<'_>, import: &mut Import) -> Option<Json> {
    let tool = fault.text("tool").unwrap_or("*");
    let service = if tool.contains(['*', '?']) { "*".to_owned() } else { service(tool, &fault.place("tool"), import) };
    if service == "*" && tool != "*" {
        import.note(&fault.place("tool"), format!("`{tool}` is `*` here: all mocks"));
    }
    let mut written = Map::new();
    written.insert("tool".to_owned(), json!(service));
    written.extend(moded(fault, &TOOL_MODES, &["tool", "match_url"], import)?);
    written.extend(fault.only(&["match_url"]));
    Some(Json::Object(written))
}

fn llm_fault(fault: &Fields<'_>, import: &mut Import) -> Option<Json> {
    for key in ["severity", "factor"] {
        if fault.get(key).is_some() {
            import.note(&fault.place(key), "left out: it has no counterpart");
        }
    }
    moded(fault, &LLM_MODES, &["severity", "factor"], import).map(Json::Object)
}

/// The mode of a fault, its own keys, and its trigger; `None` when there is no such mode.
fn moded(
    fault: &Fields<'_>,
    modes: &[(&str, &[&str])],
    more: &[&str],
    import: &mut Import,
) -> Option<Map<String, Json>> {
    let mode = fault.text("mode").unwrap_or_default();
    let Some((_, own)) = modes.iter().find(|(known, _)| *known == mode) else {
        import.note(&fault.place("mode"), format!("left out: there is no mode `{mode}`"));
        return None;
    };
    let known = [&["mode"], &TRIGGER[..], own, more].concat();
    let others: Vec<_> =
        modes.iter().flat_map(|(_, keys)| keys.iter().copied()).filter(|key| !known.contains(key)).collect();
    for key in others.iter().filter(|key| fault.get(key).is_some()) {
        import.note(&fault.place(key), format!("left out: `{mode}` does nothing with it"));
    }
    fault.note_unknown(&[&known[..], &others].concat(), import);
    Some(fault.only(&[&["mode"], &TRIGGER[..], own].concat()))
}

/// Attacks, from a list or from a map by their types.
fn attacks(world: &Fields<'_>, import: &mut Import) -> Vec<Json> {
    let listed = world.list("context_attacks", import);
    let by_type = world.section("context_attacks");
    let named = by_type.iter().flat_map(|map| {
        let section = |(kind, value): (&String, &'_ Json)| Some((kind.clone(), value.as_object()?.clone()));
        map.entries().filter_map(section).collect::<Vec<_>>()
    });
    let named: Vec<_> = named
        .map(|(kind, mut fields)| {
            fields.insert("type".to_owned(), json!(kind));
            Json::Object(fields)
        })
        .collect();
    let place = world.place("context_attacks");
    let named: Vec<_> = named.iter().filter_map(|attack| Fields::new(attack, place.as_str())).collect();
    listed.iter().chain(&named).filter_map(|attack| self::attack(attack, import)).collect()
}

fn attack(attack: &Fields<'_>, import: &mut Import) -> Option<Json> {
    let kind = attack.text("type").unwrap_or_default();
    let Some((_, own)) = ATTACKS.iter().find(|(known, _)| *known == kind) else {
        let instead = match kind {
            "system_prompt_leak_probe" => "write a rule of the contract with `probes`",
            _ => "there is no such attack",
        };
        import.note(&attack.place("type"), format!("left out, `{kind}`: {instead}"));
        return None;
    };
    let common = ["type", "payload", "payloads", "enabled"];
    let known = [&common[..], own].concat();
    let ignored = ["trigger_probability", "strategy", "inject_tokens", "inject_at"];
    for key in ignored.iter().filter(|key| !known.contains(key) && attack.get(key).is_some()) {
        import.note(&attack.place(key), format!("left out: `{kind}` does nothing with it"));
    }
    attack.note_unknown(&[&known[..], &ignored].concat(), import);
    Some(Json::Object(attack.only(&known)))
}

/// The service that stands for a tool.
pub(super) fn service(tool: &str, place: &str, import: &mut Import) -> String {
    let called = match name(&tool.to_ascii_lowercase(), 60) {
        empty if empty.is_empty() => "tools".to_owned(),
        called => called,
    };
    if called != tool {
        import.note(place, format!("`{tool}` is the service `{called}` here"));
    }
    import.tools.insert(called.clone());
    called
}
