//! The description of the API, made from the handlers.

use utoipa::OpenApi as _;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Components, ContentBuilder, OpenApi, Ref, ResponseBuilder, SecurityRequirement};

use crate::router;

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Touchstone",
        description = "Puts AI agents to the test: submit specs, follow experiments, read verdicts. A stock Keystone SDK works with it.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    components(schemas(crate::error::ErrorBody))
)]
struct Base;

/// The description of the API: OpenAPI 3.1.
#[must_use]
pub fn document() -> OpenApi {
    let mut document = Base::openapi();
    let (_, keyed) = router::keyed().split_for_parts();
    let (_, open) = router::open().split_for_parts();
    document.merge(keyed);
    for item in document.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.post, &mut item.put, &mut item.delete, &mut item.patch];
        for operation in operations.into_iter().flatten() {
            operation.security = Some(vec![SecurityRequirement::new("key", Vec::<String>::new())]);
        }
    }
    document.merge(open);
    name_operations(&mut document);
    add_refusals(&mut document);
    // How the router calls the rest of a path is its own business.
    let paths = std::mem::take(&mut document.paths.paths);
    document.paths.paths = paths.into_iter().map(|(path, item)| (path.replace("{*", "{"), item)).collect();
    let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    document.components.get_or_insert_with(Components::new).add_security_scheme("key", scheme);
    document
}

/// Handlers have short names; across the API operations are called by what they do and where: `post_experiments_id_run`.
fn name_operations(document: &mut OpenApi) {
    for (path, item) in &mut document.paths.paths {
        let place = path.trim_start_matches("/v1").replace(['{', '}', '*'], "").replace(['/', '.', '-'], "_");
        let operations = [
            ("get", &mut item.get),
            ("post", &mut item.post),
            ("put", &mut item.put),
            ("delete", &mut item.delete),
            ("patch", &mut item.patch),
        ];
        for (method, operation) in operations {
            if let Some(operation) = operation {
                operation.operation_id = Some(format!("{method}{place}"));
            }
        }
    }
}

/// Whatever is asked may be refused: too often, too slowly, while the database does not answer.
fn add_refusals(document: &mut OpenApi) {
    let body = ContentBuilder::new().schema(Some(Ref::from_schema_name("ErrorBody"))).build();
    let refusal = ResponseBuilder::new().description("A refusal").content("application/json", body).build();
    for item in document.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.post, &mut item.put, &mut item.delete, &mut item.patch];
        for operation in operations.into_iter().flatten() {
            operation.responses.responses.entry("default".to_owned()).or_insert_with(|| refusal.clone().into());
        }
    }
}
