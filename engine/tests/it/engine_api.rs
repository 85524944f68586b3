//! Asks the Docker engine for containers, volumes and networks with a label, over its socket.
//!
//! The tests use no `docker` program: each asks several times, and starting the program for that took more processor
//! time than most tests do.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use serde_json::Value as Json;

/// The ids of containers, and the names of volumes and networks, with their kind: `container 4a5b…`.
pub(crate) fn labelled(label: &str) -> Vec<String> {
    // {"label":["…"]}, as addresses write it.
    let filters = format!("%7B%22label%22%3A%5B%22{}%22%5D%7D", label.replace('=', "%3D"));
    let containers = get(&format!("/containers/json?all=1&filters={filters}"));
    let volumes = get(&format!("/volumes?filters={filters}"));
    let networks = get(&format!("/networks?filters={filters}"));
    let listed =
        [("container", &containers, "Id"), ("volume", &volumes["Volumes"], "Name"), ("network", &networks, "Id")];
    let named = |(kind, list, key): (&str, &Json, &str)| {
        let things = list.as_array().into_iter().flatten();
        things.map(|thing| format!("{kind} {}", thing[key].as_str().expect("an id"))).collect::<Vec<_>>()
    };
    listed.into_iter().flat_map(named).collect()
}

/// The answer to one request. HTTP/1.0, so that it ends with the connection and is in one piece.
fn get(path: &str) -> Json {
    let host = std::env::var("DOCKER_HOST").unwrap_or_default();
    let socket = host.strip_prefix("unix://").unwrap_or("/var/run/docker.sock");
    let mut stream = UnixStream::connect(socket).expect("a Docker engine");
    write!(stream, "GET {path} HTTP/1.0\r\nHost: docker\r\n\r\n").expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.lines().next().is_some_and(|status| status.contains(" 200 ")), "{path}: {answer}");
    serde_json::from_str(body).expect("JSON")
}
