//! As much of S3 as the store uses, in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

/// A time that all objects have.
const MODIFIED: &str = "2026-03-01T12:00:00.000Z";

/// A bucket.
pub(crate) struct FakeS3 {
    server: MockServer,
    pub(crate) objects: Objects,
}

/// The objects of a bucket, by name.
#[derive(Clone, Default)]
pub(crate) struct Objects(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

impl FakeS3 {
    pub(crate) async fn start() -> Self {
        let (server, objects) = (MockServer::start().await, Objects::default());
        Mock::given(any()).respond_with(objects.clone()).mount(&server).await;
        Self { server, objects }
    }

    /// Variables that say how to reach it.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let variables = [
            ("AWS_ENDPOINT", self.server.uri()),
            ("AWS_ACCESS_KEY_ID", "somebody".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
            ("AWS_REGION", "here-1".to_owned()),
            ("HOME", "/nowhere".to_owned()),
        ];
        variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

impl Objects {
    pub(crate) fn names(&self) -> Vec<String> {
        self.0.lock().expect("a bucket").keys().cloned().collect()
    }
}

fn found(request: &Request, content: &[u8]) -> ResponseTemplate {
    let known = |status| {
        ResponseTemplate::new(status)
            .insert_header("ETag", "\"e\"")
            .insert_header("Last-Modified", "Sun, 01 Mar 2026 12:00:00 GMT")
    };
    if request.method.as_str() == "HEAD" {
        return known(200).insert_header("Content-Length", content.len().to_string());
    }
    let Some(range) = request.headers.get("range") else { return known(200).set_body_bytes(content) };
    let range = range.to_str().expect("a range").trim_start_matches("bytes=").to_owned();
    let (first, last) = range.split_once('-').expect("a range");
    let (first, last): (usize, usize) = (first.parse().expect("a place"), last.parse().expect("a place"));
    let last = last.min(content.len() - 1);
    known(206)
        .insert_header("Content-Range", format!("bytes {first}-{last}/{}", content.len()))
        .set_body_bytes(&content[first..=last])
}

fn listed(names: Vec<(&String, &Vec<u8>)>, beginning: &str, folders: bool) -> String {
    let mut prefixes: Vec<String> = Vec::new();
    let mut contents = String::new();
    for (name, content) in names {
        match name[beginning.len()..].split_once('/') {
            Some((folder, _)) if folders => prefixes.push(format!("{beginning}{folder}/")),
            _ => contents.push_str(&format!(
                "<Contents><Key>{name}</Key><LastModified>{MODIFIED}</LastModified><ETag>e</ETag><Size>{}</Size></Contents>",
                content.len()
            )),
        }
    }
    prefixes.dedup();
    let prefixes: String =
        prefixes.iter().map(|prefix| format!("<CommonPrefixes><Prefix>{prefix}</Prefix></CommonPrefixes>")).collect();
    format!("<ListBucketResult>{contents}{prefixes}</ListBucketResult>")
}

impl Respond for Objects {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let authorization = request.headers.get("authorization").expect("a signature").to_str().expect("text");
        assert!(authorization.starts_with("AWS4-HMAC-SHA256 Credential=somebody/"), "{authorization}");
        let name = request.url.path().trim_start_matches("/bucket").trim_start_matches('/').to_owned();
        let query: BTreeMap<String, String> = request.url.query_pairs().into_owned().collect();
        let mut objects = self.0.lock().expect("a bucket");
        let ok = ResponseTemplate::new(200).insert_header("ETag", "\"e\"");
        match (request.method.as_str(), query.get("uploadId")) {
            ("POST", None) if query.contains_key("uploads") => ok.set_body_string(
                "<InitiateMultipartUploadResult><UploadId>up</UploadId></InitiateMultipartUploadResult>",
            ),
            ("PUT", Some(_)) => {
                let part = format!("parts of {name}/{:0>5}", query["partNumber"]);
                objects.insert(part, request.body.clone());
                ok
            }
            ("POST", Some(_)) => {
                let whole: Vec<String> =
                    objects.keys().filter(|key| key.starts_with(&format!("parts of {name}/"))).cloned().collect();
                let content = whole.iter().flat_map(|part| objects.remove(part).expect("a part")).collect();
                objects.insert(name, content);
                ok.set_body_string("<CompleteMultipartUploadResult><ETag>\"e\"</ETag></CompleteMultipartUploadResult>")
            }
            ("POST", None) => {
                let body = String::from_utf8(request.body.clone()).expect("text");
                let names = body.split("<Key>").skip(1).map(|rest| rest.split("</Key>").next().expect("a name"));
                let removed: String = names
                    .map(|name| {
                        objects.remove(name);
                        format!("<Deleted><Key>{name}</Key></Deleted>")
                    })
                    .collect();
                ok.set_body_string(format!("<DeleteResult>{removed}</DeleteResult>"))
            }
            ("PUT", None) => {
                let is_first = request.headers.get("if-none-match").is_some_and(|name| name == "*");
                if is_first && objects.contains_key(&name) {
                    return ResponseTemplate::new(412);
                }
                let content = match request.headers.get("x-amz-copy-source") {
                    Some(from) => {
                        let from = from.to_str().expect("a name").trim_start_matches("bucket/");
                        objects[from].clone()
                    }
                    None => request.body.clone(),
                };
                objects.insert(name, content);
                ok.set_body_string("<CopyObjectResult><ETag>\"e\"</ETag></CopyObjectResult>")
            }
            ("GET", _) if name.is_empty() => {
                let beginning = query.get("prefix").cloned().unwrap_or_default();
                let names = objects.iter().filter(|(name, _)| name.starts_with(&beginning)).collect();
                ok.set_body_string(listed(names, &beginning, query.contains_key("delimiter")))
            }
            ("GET" | "HEAD", _) => match objects.get(&name) {
                Some(content) => found(request, content),
                None => ResponseTemplate::new(404),
            },
            (method, _) => panic!("{method} {name} is not known"),
        }
    }
}
