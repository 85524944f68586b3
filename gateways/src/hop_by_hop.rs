//! Headers that are about one connection, and go no further.

use http::HeaderMap;
use http::header::{self, HeaderName};

/// Headers that are about one connection and not about the request.
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "expect",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

/// Removes headers that are about one connection, also those that `Connection` lists.
pub(crate) fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let listed = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let listed: Vec<HeaderName> =
        listed.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok()).collect();
    for name in listed {
        // What says how long the body is belongs to the request, whatever else is claimed.
        if name != header::HOST && name != header::CONTENT_LENGTH && name != header::TRANSFER_ENCODING {
            headers.remove(name);
        }
    }
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}
