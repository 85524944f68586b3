//! `touchstone tools from-openapi`: what it prints and writes, and what it refuses.

use std::fs;

use crate::place::Place;
use crate::run_with;

const API: &str = r#"
openapi: 3.1.0
info: { title: shop, version: "1" }
paths:
  /orders/{id}:
    get:
      operationId: getOrder
      description: "\u001b[31mred"
      parameters: [{ name: id, in: path, required: true, schema: { type: string } }, { name: X-Key, in: header }]
    delete: { operationId: deleteOrder }
"#;

#[test]
fn tools_of_a_document_stand_in_a_spec_that_validates() {
    let place = Place::new("");
    let (code, tools, stderr) = run_with(&["tools", "from-openapi", "-"], API);
    assert_eq!(code, 0, "{stderr}");
    assert!(tools.contains("- name: getOrder") && !tools.contains('\u{1b}'), "{tools}");
    let noted = "note: `GET /orders/{id}`: the header parameter `X-Key` is left out";
    assert!(stderr.contains(noted) && stderr.contains("2 tools of the service `shop`"), "{stderr}");
    let spec = format!(
        "version: 1\nid: shop\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
         services: [{{name: shop, type: http_mock}}]\n{tools}\
         invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
    );
    let path = place.path().join("shop.yaml");
    fs::write(&path, spec).expect("a file");
    let (code, stdout, stderr) = run_with(&["validate", &path.display().to_string()], "");
    assert_eq!(code, 0, "{stdout}{stderr}");
}

#[test]
fn a_file_is_written_once_and_operations_are_chosen() {
    let place = Place::new("");
    let (api, tools) = (place.path().join("api.yaml"), place.path().join("tools.yaml").display().to_string());
    fs::write(&api, API).expect("a file");
    let api = api.display().to_string();
    let command = ["tools", "from-openapi", &api, "--service", "orders", "--only", "deleteOrder", "-o", &tools];
    let (code, stdout, stderr) = run_with(&command, "");
    assert_eq!((code, stdout.as_str()), (0, ""), "{stderr}");
    let written = fs::read_to_string(&tools).expect("a file");
    assert!(written.contains("service: orders") && !written.contains("getOrder"), "{written}");
    let (code, _, stderr) = run_with(&command, "");
    assert!(code == 2 && stderr.contains("--force"), "{stderr}");
    assert_eq!(run_with(&[&command[..], &["--force"]].concat(), "").0, 0);
    let (code, _, stderr) = run_with(&["tools", "from-openapi", &api, "--only", "deleteOrders"], "");
    assert!(code == 2 && stderr.contains("did you mean `deleteOrder`?"), "{stderr}");
    let (code, _, stderr) = run_with(&["tools", "from-openapi", "-"], "swagger: '2.0'");
    assert!(code == 2 && stderr.contains("Swagger 2.0"), "{stderr}");
}
