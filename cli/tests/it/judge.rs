//! A provider of models on this machine, which rates whatever it is asked.

use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;

/// Serves a provider that gives everything this score, until the process ends, and tells a data directory of it.
pub(crate) fn provide(data_dir: &Path, score: f64) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || answer(&stream, score));
        }
    });
    fs::create_dir_all(data_dir).expect("a folder");
    let models = format!(
        "aliases:\n  paragon-fast: {{ provider: openai, base_url: 'http://{address}/v1', model: gpt-4o-mini }}\n"
    );
    fs::write(data_dir.join("models.yaml"), models).expect("written");
}

/// Answers the requests of one connection.
fn answer(mut stream: &TcpStream, score: f64) {
    let mut reader = BufReader::new(stream);
    while let Some(length) = head(&mut reader) {
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let rating = serde_json::json!({ "score": score, "passed": true, "reason": "it reads well" }).to_string();
        let answer = serde_json::json!({
            "model": "gpt-4o-mini",
            "choices": [{ "message": { "role": "assistant", "content": rating } }],
            "usage": { "prompt_tokens": 100, "completion_tokens": 20 },
        })
        .to_string();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", answer.len());
        if stream.write_all((head + &answer).as_bytes()).is_err() {
            return;
        }
    }
}

/// Reads the head of a request; how long its body is. `None` when there is no other request.
fn head(reader: &mut impl BufRead) -> Option<usize> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.is_empty() {
            return Some(length);
        }
    }
}
