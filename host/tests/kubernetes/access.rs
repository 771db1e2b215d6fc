//! The ways to the API server: tokens that are replaced, programs that give them, proxies, and the inside of a pod.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::common::Bench;
use crate::follow::{Followed, from_files, pace};
use crate::objects::{cluster, peer, settings};
use crate::program::{Daemon, ended, program, run, set, until};
use crate::server::{ADMIN, skipped};

/// A kubeconfig with another user.
fn with_user(api: &Cluster, user: Value) -> Value {
    let mut config = api.server.kubeconfig(ADMIN);
    config["users"][0]["user"] = user;
    config
}

/// The source that is refused says so; with another token in the file all goes on.
async fn goes_on_with_a_new_token(api: &Cluster, config: Value, token: &Path) {
    let objects = cluster();
    api.apply_all(&objects).await;
    fs::write(token, "expired").unwrap();
    let mut followed = Followed::start(api.put(&config), settings(), pace()).await;
    followed
        .until("it is refused", |followed| {
            followed.of("nodes").lost.as_ref().is_some_and(|reason| reason.contains("401: Unauthorized"))
        })
        .await;
    fs::write(token, ADMIN).unwrap();
    followed.until_rendered("with a token that holds", &objects).await;
}

#[tokio::test]
async fn a_token_in_a_file_that_expired_is_read_again() {
    let Some(api) = Cluster::take().await else { return };
    let token = api.files.path().join("token");
    fs::write(&token, "").unwrap();
    let config = with_user(&api, json!({"tokenFile": token}));
    goes_on_with_a_new_token(&api, config, &token).await;
}

#[tokio::test]
async fn a_token_of_a_program_that_expired_is_asked_for_again() {
    let Some(api) = Cluster::take().await else { return };
    let (token, script) = (api.files.path().join("token"), api.files.path().join("credentials"));
    let answer =
        r#"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}"#;
    fs::write(&script, format!("printf '{answer}' \"$(cat '{}')\"\n", token.display())).unwrap();
    let exec = json!({
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "/bin/sh",
        "args": [script],
        "interactiveMode": "Never",
    });
    goes_on_with_a_new_token(&api, with_user(&api, json!({"exec": exec})), &token).await;
}

/// A proxy for CONNECT; the number of its connections so far, and its address.
fn connect_proxy() -> (Arc<AtomicUsize>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let counted = counted.clone();
            // Whoever connected may be gone.
            thread::spawn(move || tunnel(stream?, &counted));
        }
    });
    (count, address)
}

/// Leads one connection to where it asks to be led.
fn tunnel(mut stream: TcpStream, count: &AtomicUsize) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let target = head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next()).unwrap();
    let mut upstream = TcpStream::connect(target)?;
    stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    count.fetch_add(1, Ordering::Relaxed);
    let (mut back, mut to) = (upstream.try_clone()?, stream.try_clone()?);
    thread::spawn(move || {
        // Whichever end closes, the other is closed too.
        let _ = io::copy(&mut back, &mut to);
        to.shutdown(Shutdown::Both)
    });
    let _ = io::copy(&mut stream, &mut upstream);
    upstream.shutdown(Shutdown::Both)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_is_used_that_the_file_or_the_environment_names() {
    let Some(api) = Cluster::take().await else { return };
    let mut objects = cluster();
    api.apply_all(&objects).await;
    let (count, address) = connect_proxy();
    let mut config = api.server.kubeconfig(ADMIN);
    config["clusters"][0]["cluster"]["proxy-url"] = address.as_str().into();
    let mut followed = Followed::start(api.put(&config), settings(), pace()).await;
    followed.until_rendered("through the proxy", &objects).await;
    objects.push(peer(9));
    api.apply(&peer(9)).await;
    followed.until_rendered("a change through the proxy", &objects).await;
    followed.stop().await;
    let before = count.load(Ordering::Relaxed);
    assert!(before > 0);

    let bench = Bench::new();
    api.kubeconfig(ADMIN);
    let mut command = program(&api, &bench, "render --datastore kubernetes --out OUT");
    command.env("HTTPS_PROXY", &address);
    ended(command).await.ends(0);
    assert_eq!(set(&bench.out()), from_files(&settings(), &objects));
    assert!(count.load(Ordering::Relaxed) > before);
}

/// Whether this machine lets a program see other files than others do.
fn can_mount() -> bool {
    let status = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "mount", "--bind", "/tmp", "/run"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_pod_the_service_account_is_used_and_its_token_as_it_is_replaced() {
    let Some(api) = Cluster::take().await else { return };
    if !can_mount() {
        skipped("this machine lets no program see files of its own at /run");
        return;
    }
    let objects = cluster();
    api.apply_all(&objects).await;
    let deployed: Value = serde_json::from_slice(&fs::read(api.deployed(&["bgp"]).await).unwrap()).unwrap();
    let good = deployed["users"][0]["user"]["token"].as_str().unwrap();
    let server = deployed["clusters"][0]["cluster"]["server"].as_str().unwrap();
    let (host, port) = server.trim_start_matches("https://").split_once(':').unwrap();
    let authority = deployed["clusters"][0]["cluster"]["certificate-authority"].as_str().unwrap();

    let bench = Bench::new();
    let inside = run(&api, &bench, "");
    let account = "run/secrets/kubernetes.io/serviceaccount";
    bench.put(&format!("{account}/namespace"), "kube-system");
    bench.put(&format!("{account}/ca.crt"), &fs::read_to_string(authority).unwrap());
    let token = bench.put(&format!("{account}/token"), "expired");
    let script = "mount --bind \"$1\" /run && shift && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]);
    command.arg(bench.path("run")).arg(inside.get_program()).args(inside.get_args());
    command.env_clear().envs(inside.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
        .env_remove("KUBECONFIG")
        .env("KUBERNETES_SERVICE_HOST", host)
        .env("KUBERNETES_SERVICE_PORT", port);
    command.current_dir(inside.get_current_dir().unwrap()).stdin(Stdio::null());
    let _daemon = Daemon::start(&bench, command);
    let said = |text: &str| fs::read_to_string(bench.path("log")).unwrap().contains(text);
    until("the token is refused", || said("401: Unauthorized")).await;

    // As kubelet replaces it.
    let new = bench.put(&format!("{account}/token.new"), good);
    fs::set_permissions(&new, fs::Permissions::from_mode(0o600)).unwrap();
    fs::rename(new, token).unwrap();
    let expected = from_files(&settings(), &objects);
    until("the files are there", || set(&bench.out()) == expected).await;
    assert!(!said(good));
}
