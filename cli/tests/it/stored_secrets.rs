//! Values of secrets are in nothing that is kept or printed: not in the database, its log, files of evidence or reports.

use std::fs;
use std::path::Path;

use crate::place::{Place, local_spec};

/// Long enough that its base64 is broken into lines.
const VALUE: &str = "Tok3n-8f2A9c-QzX7Yw-Tok3n-1b6D4e-RtU5Io-Tok3n-0g3H7j-PaS2Df-x9";

/// Prints a value in several forms, writes it into files and their names, and sends it to a mock in all parts of a request.
const PLANTING: &str = r#"hex=$(printf %s "$TOKEN" | od -An -tx1 | tr -d ' \n')
coded=$(printf %s "$TOKEN" | base64 -w 0)
for form in "$TOKEN" "$hex" "$coded" "$(printf %s "$TOKEN" | tr a-z A-Z)" "$(printf %s "$TOKEN$TOKEN" | base64)"; do
  echo "$form"; echo "$form" >&2
  printf '%s' "$form" >> out
  name=$(printf %s "$form" | tr -d '\n/' | cut -c 1-200); : > "$name"
  exec 3<>/dev/tcp/shop/80
  printf 'POST /%s?a=%s HTTP/1.1\r\nHost: shop\r\nX-%s: %s\r\nConnection: close\r\nContent-Length: %s\r\n\r\n%s' \
    "$name" "$name" "$hex" "$name" "${#name}" "$name" >&3
  cat <&3 >/dev/null; exec 3>&-
done
exit 3"#;

/// The forms that were planted; of base64, what both the whole and the wrapped one begin with.
fn planted() -> Vec<String> {
    let hex: String = VALUE.bytes().map(|byte| format!("{byte:02x}")).collect();
    let coded = "VG9rM24tOGYyQTljLVF6WDdZdy1Ub2szbi0xYjZENGUtUnRVNUlvLVRvazNu";
    vec![VALUE.to_owned(), VALUE.to_uppercase(), hex, coded.to_owned()]
}

/// Fails when bytes hold a form of the value.
fn assert_clean(bytes: &[u8], place: &str) {
    let text = String::from_utf8_lossy(bytes);
    for form in planted() {
        assert!(!text.contains(&form), "{place} holds {form}");
    }
}

/// Looks at every file below a folder; how many there were.
fn assert_all_clean(folder: &Path) -> usize {
    let mut seen = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        // Links are not followed: they may lead out of what is kept.
        let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
        assert_clean(path.as_os_str().as_encoded_bytes(), "a name");
        if kind.is_dir() {
            seen += assert_all_clean(&path);
        } else if kind.is_file() {
            assert_clean(&fs::read(&path).expect("a file"), &path.display().to_string());
            seen += 1;
        }
    }
    seen
}

#[test]
fn no_form_of_a_secret_is_in_a_byte_that_is_kept_or_printed() {
    let more = "secrets: [{name: TOKEN, source: 'file:KEY'}]
services: [{name: shop, type: http_mock, record: true, routes: [{method: POST, path: /*, response: {}}]}]
audit: {http_calls: true, file_writes: true, commands: true}
invariants:
  there: {description: x, check: {type: file_content, path: out, contains: nothing of it}}
  ran: {description: x, check: {type: command_exit, command: cat out; exit 1}}";
    let place = Place::new(&local_spec("bash plant.sh", more));
    let key = place.path().join("key");
    fs::write(&key, VALUE).expect("a key");
    let spec = place.spec().join("spec.yaml");
    let text = fs::read_to_string(&spec).expect("a spec").replace("file:KEY", &format!("file:{}", key.display()));
    let text =
        text.replace("invariants:\n", "setup: {files: [{path: /workspace/plant.sh, from: plant.sh}]}\ninvariants:\n");
    fs::write(&spec, text).expect("a spec");
    fs::write(place.spec().join("plant.sh"), PLANTING).expect("a program");
    let report = place.path().join("report");
    fs::create_dir(&report).expect("a folder");
    let outputs: Vec<_> =
        ["json", "xml", "md"].map(|kind| report.join(format!("r.{kind}")).display().to_string()).into();
    let outputs: Vec<_> = outputs.iter().flat_map(|path| ["-o", path.as_str()]).collect();
    let (code, stdout, stderr) = place.run_spec(&[&["--backend", "local", "--verbose"], outputs.as_slice()].concat());
    assert_eq!(code, 1, "{stdout}{stderr}");
    assert!(stdout.contains("redacted:TOKEN"), "the agent's words are shown, without it: {stdout}{stderr}");
    assert_clean(stdout.as_bytes(), "standard output");
    assert_clean(stderr.as_bytes(), "standard error");
    let shown = place.run(&["show", "latest/default-r0", "--evidence"]);
    assert_clean(shown.1.as_bytes(), "what `show` prints");
    assert!(assert_all_clean(&place.data()) > 2 && assert_all_clean(&report) == 3);
}
