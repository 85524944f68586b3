//! Tools for tests.

use scenario::spec::sections::{DeclaredTool, Tools};

/// The declaration of a tool.
pub(super) fn declared(yaml: &str) -> DeclaredTool {
    tools(&format!("[{yaml}]")).declared().next().expect("a declared tool").clone()
}

/// The tools of a spec.
pub(super) fn tools(yaml: &str) -> Tools {
    let spec = format!(
        "version: 1\nid: x\nbase: x\ntask: {{prompt: x}}\nservices: [{{name: shop, type: http_mock}}]\ntools: {yaml}\n\
         invariants: {{a: {{check: {{type: file_exists, path: a}}}}}}"
    );
    let loaded = scenario::spec::load(&spec, None);
    loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics)).tools.clone()
}
