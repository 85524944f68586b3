use super::{ImportError, ImportOptions, ImportedTools, import};
use crate::spec::load;

const SHOP: &str = r##"
openapi: 3.0.3
info: { title: "Shop API", version: "1" }
servers: [{ url: "https://{region}.example.com/v1/", variables: { region: { default: eu } } }]
paths:
  /orders/{id}:
    parameters:
      - { name: id, in: path, required: true, schema: { type: integer, format: int64 } }
    get:
      operationId: getOrder
      summary: Read an order
      parameters:
        - { name: expand, in: query, description: Parts to add, schema: { type: array, items: { type: string, enum: [items, customer] } } }
        - { name: X-Trace, in: header, schema: { type: string } }
        - { name: session, in: cookie, required: true, schema: { type: string } }
        - { name: "filter[state]", in: query, schema: { type: string } }
      responses: { 200: { description: ok } }
    patch:
      operationId: orders.update
      summary: Change an order
      description: Changes what is given.
      requestBody: { $ref: "#/components/requestBodies/Order" }
    head: {}
  "/orders/{id}/refunds":
    post:
      requestBody:
        required: true
        content:
          application/json:
            schema:
              allOf:
                - { $ref: "#/components/schemas/Money" }
                - { type: object, required: [reason], properties: { reason: { type: string, pattern: "^(?!x)" }, id: { type: string, readOnly: true } } }
          application/xml: {}
  /orders:
    post: { operationId: getOrder, requestBody: { required: true, content: { application/json: { schema: { type: array, items: { type: string } } } } } }
    put: { operationId: putTree, requestBody: { content: { application/json: { schema: { $ref: "#/components/schemas/Node" } } } } }
  /events:
    post: { operationId: shop-api, requestBody: { content: { application/json: { schema: { type: object } } } } }
  /upload:
    post: { operationId: upload, requestBody: { required: true, content: { multipart/form-data: {} } } }
  /broken:
    get: { operationId: broken, parameters: [{ $ref: "other.yaml#/x" }] }
components:
  securitySchemes: { key: { type: http, scheme: bearer } }
  requestBodies:
    Order: { required: true, content: { "application/json; charset=utf-8": { schema: { type: object, properties: { id: { type: string }, note: { type: string, nullable: true }, total: { type: number, minimum: 0, exclusiveMinimum: true } }, required: [note] } } } }
  schemas:
    Money: { type: object, required: [amount], properties: { amount: { type: number }, currency: { type: string, x-note: no } } }
    Node: { type: object, properties: { name: { type: string }, children: { type: array, items: { $ref: "#/components/schemas/Node" } } } }
"##;

fn imported(only: &[&str]) -> Result<ImportedTools, ImportError> {
    let only = only.iter().map(|name| (*name).to_owned()).collect();
    import(SHOP, &ImportOptions { service: None, only })
}

/// The findings about a spec with these tools, and with a service that has them.
fn findings(tools: &ImportedTools) -> Vec<String> {
    let text = format!(
        "version: 1\nid: t\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
         services: [{{name: {}, type: http_mock}}]\n{}\
         invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n",
        tools.service, tools.yaml
    );
    load(&text, None).diagnostics.iter().map(|finding| format!("{} {}", finding.path, finding.message)).collect()
}

#[test]
fn operations_become_tools_that_validate() {
    let tools = imported(&[]).expect("tools");
    insta::assert_snapshot!(format!("{}\n{}", tools.yaml, tools.notes.join("\n")));
    assert_eq!(findings(&tools), Vec::<String>::new());
}

#[test]
fn operations_are_chosen_by_any_of_their_names() {
    let names = |only: &[&str]| {
        let yaml = imported(only).expect("tools").yaml;
        let names = yaml.lines().filter_map(|line| line.strip_prefix("- name: "));
        names.map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(names(&["getOrder"]), ["getOrder"]);
    assert_eq!(names(&["orders.update", "PUT /orders"]), ["orders_update", "putTree"]);
    let problem = imported(&["getOrders"]).expect_err("no such operation").to_string();
    assert_eq!(problem, "there is no operation `getOrders`; did you mean `getOrder`?");
}

#[test]
fn other_documents_are_refused_with_the_reason() {
    let problem = |text: &str| import(text, &ImportOptions::default()).expect_err("refused").to_string();
    assert!(problem("[").starts_with("this is neither YAML nor JSON: "));
    assert_eq!(problem("{}"), "this is no OpenAPI document: the key `openapi` is missing");
    let version = "OpenAPI 3.0 and 3.1 are read, and this is Swagger 2.0: convert it first";
    assert_eq!(problem("swagger: '2.0'"), version);
    assert_eq!(problem("swagger: 2.0"), version);
    assert_eq!(problem("{openapi: 3.1.0}"), "no operation of this document can be a tool");
    let options = ImportOptions { service: Some("My Shop".to_owned()), only: Vec::new() };
    let problem = import(SHOP, &options).expect_err("refused").to_string();
    assert!(problem.starts_with("`My Shop` is no name of a service"), "{problem}");
}

#[test]
fn schemas_that_grow_without_end_are_cut() {
    let double = |number: u32| {
        let next = format!("{{ $ref: '#/components/schemas/s{}' }}", number + 1);
        format!("    s{number}: {{ type: object, properties: {{ a: {next}, b: {next} }} }}\n")
    };
    let schemas: String = (0..60).map(double).collect();
    let text = format!(
        "openapi: 3.1.0\ninfo: {{title: api}}\npaths:\n  /x:\n    post: {{ operationId: x, requestBody: {{ content: {{ application/json: \
         {{ schema: {{ $ref: '#/components/schemas/s0' }} }} }} }} }}\ncomponents:\n  schemas:\n{schemas}    s60: {{}}\n"
    );
    let tools = import(&text, &ImportOptions::default()).expect("a tool");
    assert!(tools.notes.iter().any(|note| note.contains("its schema is too large")), "{:?}", tools.notes);
    assert_eq!(findings(&tools), Vec::<String>::new());
}
