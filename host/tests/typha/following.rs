//! What a source makes of what a server says.

use std::io::Write;
use std::time::Duration;

use crate::fake::{AT_MOST, BLOCK, PEER, POOL, Scene, Server, expect, pace, send};

#[tokio::test]
async fn everything_is_told_and_then_every_change() {
    let mut scene = Scene::start(pace(), AT_MOST).await;
    let mut stream = scene.accept().await;
    let mut server = Server::new();
    let others = [
        ("/calico/ipam/v2/host/node-b/ipv4/block/10.10.1.0-26", BLOCK.1),
        ("/calico/ipam/v2/virtual/load-balancer/ipv4/block/10.10.2.0-26", BLOCK.1),
        ("/calico/resources/v3/projectcalico.org/clouds/x", "{}"),
        ("nonsense", "{}"),
    ];
    send(&mut stream, &server.everything(&[&[POOL, PEER, BLOCK][..], &others].concat())).await;
    let told = scene.until_in_sync().await;
    assert_eq!(
        told,
        ["+BGPPeer tor", "+IPPool 10.10.0.0-16", "+BlockAffinity node-a-10-10-0-0-26", "in sync"]
    );
    // The same again is no news.
    let change = (PEER.0, r#"{"kind":"BGPPeer","spec":{"peerIP":"10.0.0.2","asNumber":65000}}"#);
    let news = [server.values(&[POOL, BLOCK]), server.values(&[change, (BLOCK.0, ""), (others[0].0, "")])];
    send(&mut stream, &news.concat()).await;
    let told: Vec<String> = scene.next().await.iter().map(crate::fake::shown).collect();
    assert_eq!(told, ["+BGPPeer tor", "-BlockAffinity node-a-10-10-0-0-26"]);
    scene.end().await;
}

#[tokio::test]
async fn values_that_cannot_be_read_are_told_with_their_keys() {
    let mut scene = Scene::start(pace(), AT_MOST).await;
    let mut stream = scene.accept().await;
    let bad = [
        (PEER.0, "[]"),
        (POOL.0, r#"{"cidr":"10.11.0.0/16"}"#),
        ("/calico/resources/v3/projectcalico.org/bgppeers/../nodes/x", PEER.1),
        ("/calico/resources/v3/projectcalico.org/nodes/", "{}"),
    ];
    send(&mut stream, &Server::new().everything(&bad)).await;
    let told = scene.until_in_sync().await;
    assert_eq!(told.len(), 4, "{told:#?}");
    assert!(told[0].starts_with("!BGPPeer tor: ") && told[0].contains(PEER.0), "{told:#?}");
    assert!(told[1].starts_with("!IPPool 10.10.0.0-16: ") && told[1].contains("10.11.0.0/16"), "{told:#?}");
    assert!(told[2].starts_with("problems: ") && told[2].contains(bad[2].0), "{told:#?}");
    scene.end().await;
}

#[tokio::test]
async fn a_connection_without_changes_tells_nothing() {
    let mut scene = Scene::start(pace(), AT_MOST).await;
    let mut stream = scene.accept().await;
    send(&mut stream, &Server::new().everything(&[POOL, PEER, BLOCK])).await;
    scene.until_in_sync().await;
    for _ in 0..3 {
        drop(stream);
        stream = scene.accept().await;
        let mut server = Server::new();
        send(&mut stream, &server.everything(&[POOL, PEER, BLOCK])).await;
        // An answer shows that all before has been taken.
        send(&mut stream, &server.ping(b"fifteen bytes.!")).await;
        expect(&mut stream, b"fifteen bytes.!").await;
    }
    let mut server = Server::new();
    drop(stream);
    let mut stream = scene.accept().await;
    send(&mut stream, &server.everything(&[POOL])).await;
    let told: Vec<String> = scene.next().await.iter().map(crate::fake::shown).collect();
    assert_eq!(told, ["-BGPPeer tor", "-BlockAffinity node-a-10-10-0-0-26"]);
    scene.end().await;
}

#[tokio::test]
async fn nothing_of_a_new_connection_is_told_before_it_is_complete() {
    let mut scene = Scene::start(pace(), AT_MOST).await;
    let mut stream = scene.accept().await;
    send(&mut stream, &Server::new().everything(&[POOL, PEER])).await;
    scene.until_in_sync().await;
    drop(stream);
    let mut stream = scene.accept().await;
    let mut server = Server::new();
    let moved = (POOL.0, r#"{"cidr":"10.10.0.0/16","ipip_mode":""}"#);
    send(&mut stream, &[server.hello(), server.status(1), server.values(&[moved])].concat()).await;
    send(&mut stream, &server.ping(b"half")).await;
    expect(&mut stream, b"half").await;
    assert!(scene.told.try_recv().is_err());
    // It breaks off, and the next one begins with everything.
    drop(stream);
    let mut stream = scene.accept().await;
    send(&mut stream, &Server::new().everything(&[moved, PEER])).await;
    let told: Vec<String> = scene.next().await.iter().map(crate::fake::shown).collect();
    assert_eq!(told, ["+IPPool 10.10.0.0-16"]);
    scene.end().await;
}

#[tokio::test]
async fn a_server_that_reads_its_datastore_again_is_waited_for() {
    let grace = Duration::from_millis(50);
    let mut scene = Scene::start(tailorbird::syncer::typha::Pace { grace, ..pace() }, AT_MOST).await;
    let mut stream = scene.accept().await;
    let mut server = Server::new();
    send(&mut stream, &server.everything(&[POOL])).await;
    scene.until_in_sync().await;
    send(&mut stream, &[server.status(1), server.values(&[PEER])].concat()).await;
    let told: Vec<String> = scene.next().await.iter().map(crate::fake::shown).collect();
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("lost: ") && told[0].contains("reads its datastore"), "{told:?}");
    send(&mut stream, &server.status(2)).await;
    assert_eq!(scene.until_in_sync().await, ["+BGPPeer tor", "in sync"]);
    scene.end().await;
}

#[tokio::test]
async fn a_slow_taker_holds_up_no_answer() {
    let mut scene = Scene::start(pace(), AT_MOST).await;
    let mut stream = scene.accept().await;
    let mut server = Server::new();
    send(&mut stream, &server.everything(&[POOL])).await;
    // Nobody takes anything, and a peer changes a thousand times.
    for port in 1..=1000 {
        let value = format!(r#"{{"kind":"BGPPeer","spec":{{"peerIP":"10.0.0.1:{port}","asNumber":65000}}}}"#);
        send(&mut stream, &server.values(&[(PEER.0, &value)])).await;
    }
    send(&mut stream, &server.ping(b"still there?")).await;
    expect(&mut stream, b"still there?").await;
    let told = scene.until(|update| crate::fake::shown(update) == "+BGPPeer tor").await;
    assert!(told.len() < 10, "what is out of date is not told: {}", told.len());
    let mut last = told;
    while !format!("{last:?}").contains("1000") {
        last = scene.next().await;
    }
    scene.end().await;
}

#[tokio::test]
async fn a_compressed_snapshot_and_what_follows_are_read() {
    let mut scene = Scene::start(pace(), AT_MOST).await;
    let mut stream = scene.accept().await;
    let deflate = |bytes: &[u8]| {
        let mut encoder = snap::write::FrameEncoder::new(Vec::new());
        encoder.write_all(bytes).unwrap();
        encoder.flush().unwrap();
        encoder.into_inner().unwrap()
    };
    let mut server = Server::new();
    send(&mut stream, &[server.hello(), server.restart("snappy")].concat()).await;
    expect(&mut stream, b"MsgACK").await;
    let mut server = Server::new();
    send(&mut stream, &deflate(&[server.values(&[POOL, PEER]), server.restart("snappy")].concat())).await;
    expect(&mut stream, b"MsgACK").await;
    let mut server = Server::new();
    send(&mut stream, &deflate(&server.status(2))).await;
    assert_eq!(scene.until_in_sync().await, ["+BGPPeer tor", "+IPPool 10.10.0.0-16", "in sync"]);
    scene.end().await;
}
