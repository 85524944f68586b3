//! The contract of the official Redis image.

use super::world::{Server, World};

const IMAGE: &str = "touchstone/redis:7";

#[tokio::test]
async fn redis_serves_and_takes_arguments() {
    let mut world = World::new(IMAGE).await;
    let arguments = vec!["--requirepass", "secret"];
    let server = world.serve(Server { arguments, in_memory: Some("/data"), ..Server::default() }).await;
    let ping = ["redis-cli", "-e", "-h", "127.0.0.1", "ping"];
    assert_eq!(world.until(&["REDISCLI_AUTH=secret"], &ping).await, "PONG");
    let without = world.agent_runs(&[], &ping).await;
    assert!(without.output.contains("NOAUTH"), "{without:?}");
    let processes = world.processes(&server).await;
    assert!(processes.len() == 1 && processes[0].contains("redis-server"), "{processes:?}");
    assert!(!processes[0].starts_with("0 "), "it does not run as root: {processes:?}");
}

#[tokio::test]
async fn redis_needs_nothing_to_be_told() {
    let mut world = World::new(IMAGE).await;
    world.serve(Server::default()).await;
    let set = ["redis-cli", "-e", "-h", "127.0.0.1", "set", "a", "b"];
    assert_eq!(world.until(&[], &set).await, "OK");
}
