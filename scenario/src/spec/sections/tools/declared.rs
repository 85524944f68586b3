//! A tool that is declared in the spec.

use serde_json::{Value as Json, json};

use super::{HttpTool, ToolMock};
use crate::spec::section::section;
use crate::spec::types::{JsonSchema, Timespan, ToolName};

section! {
    /// A tool that is declared here: its name, what the agent reads about it, and `http` or `mock`, which says what it does.
    ///
    /// ```yaml
    /// tools:
    ///   - name: refund_order
    ///     description: Refund an order
    ///     input_schema:
    ///       type: object
    ///       properties: { order_id: { type: string }, amount: { type: number, minimum: 0 } }
    ///       required: [order_id, amount]
    ///     http: { service: shop, method: POST, path: "/refunds/{order_id}", body: [amount] }
    /// ```
    pub struct DeclaredTool {
        /// The name by which the agent calls it.
        name: ToolName,
        /// A name for people.
        title: Option<String>,
        /// What the agent reads about it.
        description: String = String::new(),
        /// The JSON Schema of its arguments. Arguments that do not meet it are refused with the reason, and nothing is called.
        input_schema: JsonSchema = JsonSchema::any_object(),
        /// The JSON Schema of its structured results. It is shown to the agent, and results are not checked by it.
        output_schema: Option<JsonSchema>,
        /// Hints for the agent's client.
        annotations: Option<ToolAnnotations>,
        /// The HTTP operation that it is.
        http: Option<HttpTool>,
        /// Its answers, written down.
        mock: Option<ToolMock>,
        /// How long a call may take. After that it is answered with an error.
        timeout: Timespan = Timespan::from_secs(60),
    }
}

section! {
    /// Hints for the agent's client. They change nothing here.
    pub struct ToolAnnotations {
        /// It changes nothing.
        read_only: Option<bool>,
        /// It may destroy something.
        destructive: Option<bool>,
        /// Calling it twice is like calling it once.
        idempotent: Option<bool>,
        /// It reaches something outside.
        open_world: Option<bool>,
    }
}

impl DeclaredTool {
    /// Its definition, as MCP has it.
    #[must_use]
    pub fn definition(&self) -> Json {
        let mut definition =
            json!({"name": self.name, "description": self.description, "inputSchema": self.input_schema});
        let title = self.title.as_ref().map(|title| json!(title));
        let output = self.output_schema.as_ref().map(|schema| json!(schema));
        let annotations = self.annotations.as_ref().map(ToolAnnotations::to_json);
        for (key, value) in [("title", title), ("outputSchema", output), ("annotations", annotations)] {
            if let Some(value) = value {
                definition[key] = value;
            }
        }
        definition
    }
}

impl ToolAnnotations {
    fn to_json(&self) -> Json {
        let hints = [
            ("readOnlyHint", self.read_only),
            ("destructiveHint", self.destructive),
            ("idempotentHint", self.idempotent),
            ("openWorldHint", self.open_world),
        ];
        let given = hints.into_iter().filter_map(|(name, hint)| Some((name.to_owned(), hint?.into())));
        Json::Object(given.collect())
    }
}
