//! The egress gateway, beside the plain server that is behind it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use gateways::egress::{OpenEgress, Outside};
use serde_json::json;
use tokio::net::TcpStream;
use tokio_util::sync::DropGuard;

use crate::direct::{self, Plain};
use crate::target::{Ask, Pair, Target};

/// An address of the outside, to which nothing is ever sent.
const SOMEWHERE: Ipv4Addr = Ipv4Addr::new(11, 0, 0, 1);

/// Returns the measured pairs of the egress gateway.
pub(crate) async fn pairs() -> Vec<Pair> {
    let body: Arc<[Bytes]> = [Bytes::from(json!({"id": "refund-1", "note": "x".repeat(200)}).to_string())].into();
    let answer = Plain { content_type: "application/json", parts: body };
    let ask = Ask::post("/refunds", "shop.example", json!({"order": "1001"}).to_string());
    let plain = direct::target(answer.clone(), ask.clone()).await;
    let (address, server) = direct::serve(answer).await;
    vec![Pair { name: "egress, HTTP", is_streamed: false, plain, gateway: serve(address, server, ask) }]
}

fn serve(server: SocketAddr, guard: DropGuard, ask: Ask) -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("its address");
    let egress = OpenEgress::plain(listener, Arc::new(OneServer(server))).expect("serving");
    Target { address, ask, _server: Box::new((egress, guard)) }
}

/// An outside in which every name is one server of this process.
#[derive(Debug)]
struct OneServer(SocketAddr);

#[async_trait]
impl Outside for OneServer {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        Ok(vec![SOMEWHERE.into()])
    }

    async fn connect(&self, _: SocketAddr) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(self.0).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}
