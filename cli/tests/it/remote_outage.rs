//! A server that is unavailable for a moment while a client watches.

use crate::place::{Place, THERE, local_spec};
use crate::serving::Served;

#[test]
fn watching_goes_on_where_it_was_when_the_server_comes_back() {
    let place = Place::new(&local_spec("touch out", THERE));
    let first = Served::start(&place, &["--no-worker"]);
    let key = first.key.clone().expect("a key");
    let address = first.url.trim_start_matches("http://").to_owned();
    let spec = place.spec().display().to_string();
    let mut watching = place.watch(&first, &["submit", &spec, "--watch"]);
    assert!(watching.wait_for("following "), "{}", watching.told);
    first.process.signal("TERM");
    let (status, told) = first.process.end();
    assert_eq!(status.code(), Some(0), "{told}");
    // The same address, and now somebody works.
    let second = Served::start(&place, &["--backend", "local", "--listen", &address]);
    assert!(second.key.is_none() && second.url.ends_with(&address), "{}", second.url);
    let (status, told) = watching.end();
    assert_eq!(status.code(), Some(0), "{told}");
    assert!(told.contains("pass  trial/default-r0") && !told.contains(&key), "{told}");
}
