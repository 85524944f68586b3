//! `touchstone-tool`, which calls tools for agents that only have a shell: it is in every sandbox whose spec has tools.

use super::{Sketch, assert_said, printed, suite};
use crate::harness::Harness;

suite! {
    agents_with_tools_find_the_program_that_calls_them;
    also on local:
    agents_with_tools_find_the_program_that_calls_them,
}

/// A tool, and a service that answers as the gateway of tools would.
const TOOLS: &str = r#"
tools: [{name: read_note, mock: {unknown: empty}}]
services:
  - name: notes
    type: http_mock
    routes:
      - path: /mcp
        sequence:
          - { response: { jsonrpc: "2.0", id: 1, result: { protocolVersion: "2025-06-18", capabilities: {} } } }
          - { status: 202 }
          - { response: { jsonrpc: "2.0", id: 2, result: { tools: [{ name: read_note, description: Read a note }] } } }
"#;

async fn agents_with_tools_find_the_program_that_calls_them(harness: &mut Harness) {
    let script = "echo found=$(command -v touchstone-tool); touchstone-tool --help > /dev/null; echo help=$?; \
                  echo listed=$(TOUCHSTONE_MCP_URL=http://notes.services.internal/mcp touchstone-tool); \
                  TOUCHSTONE_MCP_URL=http://127.0.0.1:9/mcp touchstone-tool 2> error.txt; \
                  echo nobody=$? $(cat error.txt); \
                  echo x 2> /dev/null > /.touchstone/bin/touchstone-tool; echo written=$?";
    let (_, evidence) = Sketch::acting(script).with(TOOLS).run(harness).await;
    assert_said(
        &evidence,
        &[
            ("found", "/.touchstone/bin/touchstone-tool"),
            ("help", "0"),
            ("listed", "read_note Read a note"),
            ("nobody", "2 touchstone-tool: cannot ask the gateway of tools at http://127.0.0.1:9/mcp: "),
            ("written", "1"),
        ],
    );
    assert_eq!(evidence.image_changes, [""; 0]);
    let (_, evidence) = Sketch::acting("echo found=$(command -v touchstone-tool)").run(harness).await;
    assert_eq!(printed(&evidence)["found"], "", "there is nothing that it could call");
}
