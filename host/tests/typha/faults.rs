//! What a server can do wrong, and what becomes of it.

use std::time::Duration;

use tailorbird::engine::Settings;
use tailorbird::syncer::Update;
use tailorbird::syncer::typha::{At, Config, Pace, probe};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::fake::{AT_MOST, PEER, POOL, Scene, Server, expect, pace, send};

/// What a server sends, and what is told of it.
fn harm() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let greeted = || {
        let mut server = Server::new();
        let hello = server.hello();
        (server, hello)
    };
    let after = |more: &dyn Fn(&mut Server) -> Vec<u8>| {
        let (mut server, hello) = greeted();
        [hello, more(&mut server)].concat()
    };
    vec![
        ("nothing", Vec::new(), "has closed the connection"),
        ("garbage", b"HTTP/1.1 400 Bad Request\r\n\r\n".repeat(9), "of the stream"),
        ("a length of 2 GiB", vec![0xfc, 0x80, 0, 0, 0], "2147483648 bytes is larger"),
        ("no greeting", Server::new().status(2), "does not greet"),
        ("two greetings", after(&|server| server.hello()), "greets a second time"),
        ("other data", Server::new().hello_for("felix", true), "too old"),
        ("an old server", Server::new().hello_for("bgp", false), "too old"),
        ("a message that nobody knows", after(&Server::stranger), "unknown variant"),
        ("a compression that nobody asked for", after(&|server| server.restart("zip")), "\"zip\""),
        (
            "half a message",
            after(&|server| server.values(&[POOL])[..40].to_vec()),
            "has closed the connection",
        ),
        (
            "a restart in the midst of data",
            after(&|server| [server.restart(""), server.status(2)].concat()),
            "in the midst",
        ),
        ("no snappy where it was said", after(&|server| [server.restart("snappy")].concat()), "has closed"),
    ]
}

#[tokio::test]
async fn what_cannot_be_trusted_ends_its_connection_and_no_more() {
    for (what, bytes, told) in harm() {
        let mut scene = Scene::start(pace(), AT_MOST).await;
        let mut stream = scene.accept().await;
        send(&mut stream, &bytes).await;
        // Where more could follow, the server goes.
        stream.shutdown().await.unwrap();
        let lost = scene.until(|update| matches!(update, Update::Lost(_))).await;
        let Some(Update::Lost(reason)) = lost.last() else { panic!("{what}: {lost:?}") };
        let address = scene.listener.local_addr().unwrap().to_string();
        assert!(reason.contains(told) && reason.contains(&address), "{what}: {reason}");
        let mut stream = scene.accept().await;
        send(&mut stream, &Server::new().everything(&[PEER])).await;
        let told = scene.until_in_sync().await;
        assert_eq!(told.iter().filter(|update| *update == "+BGPPeer tor").count(), 1, "{what}: {told:?}");
        scene.end().await;
    }
}

#[tokio::test]
async fn what_a_server_says_of_itself_is_shown_on_a_line_of_some_length() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = Config::new(At::Address(listener.local_addr().unwrap().to_string()));
    let settings = Settings::new("node-a".parse().unwrap());
    let version = format!("v3\n\u{1b}[2J{}", "x".repeat(1 << 20));
    for (data, longest) in [("bgp", 250), ("felix", 1300)] {
        let hello = Server::new().hello_of(&version, data, true);
        let (steps, _stream) = tokio::join!(probe(&config, None, &settings), async {
            let (mut stream, _) = listener.accept().await.unwrap();
            expect(&mut stream, b"MsgClientHello").await;
            send(&mut stream, &hello).await;
            stream
        });
        let greeted = steps.into_iter().last().unwrap();
        assert!(greeted.what.starts_with("typha: greet"), "{greeted:?}");
        let said = greeted.found.unwrap_or_else(|reason| reason);
        assert!(said.contains("v3\\n") && !said.contains(char::is_control), "{said}");
        assert!(said.len() < longest, "{} bytes: {said}", said.len());
    }
}

#[tokio::test]
async fn a_server_that_falls_silent_is_left() {
    let mut scene = Scene::start(pace(), Duration::from_secs(1)).await;
    let _silent = scene.accept().await;
    let lost = scene.until(|update| matches!(update, Update::Lost(_))).await;
    assert!(format!("{lost:?}").contains("has said nothing"), "{lost:?}");
    // One that sends bytes without end, and never a message, is silent too: here one of 60,000 bytes.
    let mut trickling = scene.accept().await;
    send(&mut trickling, &[Server::new().hello(), vec![0xfe, 0xea, 0x60]].concat()).await;
    while trickling.write_all(&[1]).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut stream = scene.accept().await;
    send(&mut stream, &Server::new().everything(&[PEER])).await;
    let told = scene.until_in_sync().await;
    assert!(told.contains(&"+BGPPeer tor".to_owned()), "{told:?}");
    scene.end().await;
}

#[tokio::test]
async fn an_absence_is_told_after_a_while_and_takes_nothing_away() {
    let short = Pace { grace: Duration::from_millis(100), ..pace() };
    let mut scene = Scene::start(short, AT_MOST).await;
    let mut stream = scene.accept().await;
    send(&mut stream, &Server::new().everything(&[POOL, PEER])).await;
    scene.until_in_sync().await;
    drop(stream);
    let lost = scene.until(|update| matches!(update, Update::Lost(_))).await;
    assert_eq!(lost.len(), 1, "{lost:?}");
    let mut stream = scene.accept().await;
    send(&mut stream, &Server::new().everything(&[POOL, PEER])).await;
    let told = scene.until_in_sync().await;
    assert!(told.iter().all(|update| update == "in sync" || update.starts_with("lost: ")), "{told:?}");
    scene.end().await;
}
