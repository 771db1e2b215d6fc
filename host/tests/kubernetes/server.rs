//! A real API server: `etcd` and `kube-apiserver` of the folder that `KUBEBUILDER_ASSETS` names, started once for this
//! program on free ports, and stopped when it ends, however it ends.

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;

/// How long anything may take.
pub(crate) const AT_MOST: Duration = Duration::from_secs(20);

/// The token of the cluster's administrator.
pub(crate) const ADMIN: &str = "administrator";

/// The token of a user who may do what the cluster's roles say.
pub(crate) const USER: &str = "tailorbird";

/// A running API server.
pub(crate) struct Server {
    folder: PathBuf,
    port: u16,
    /// The servers run while this process's standard input is open.
    _alive: Child,
}

/// The API server of this program; none, with a word, when nothing says where its parts are.
pub(crate) async fn server() -> Option<&'static Server> {
    static SERVER: OnceCell<Option<Server>> = OnceCell::const_new();
    let server = SERVER.get_or_init(|| async {
        match std::env::var_os("KUBEBUILDER_ASSETS").filter(|folder| !folder.is_empty()) {
            Some(parts) => Some(Server::start(Path::new(&parts)).await),
            None => {
                skipped("KUBEBUILDER_ASSETS does not name a folder with etcd and kube-apiserver");
                None
            }
        }
    });
    server.await.as_ref()
}

/// Says that something was skipped.
pub(crate) fn skipped(reason: &str) {
    // Not by a macro of the standard library: those are shown of tests that fail, and this is to be seen.
    let mut out = std::io::stderr();
    writeln!(out, "skipped: {reason}").unwrap();
}

/// Ports of this machine at which nobody listens. They are below those that systems give to whoever asks for any, so nobody
/// else is given them before a server has come up there, which can take seconds.
pub(crate) fn free_ports<const N: usize>() -> [u16; N] {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let next = || loop {
        // Programs of tests that run at once begin at different ones.
        let at = NEXT.fetch_add(1, Ordering::Relaxed).wrapping_add(std::process::id().wrapping_mul(101));
        let port = 10_000 + (at % 20_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            break port;
        }
    };
    [(); N].map(|()| next())
}

/// What a server on this machine answers, without its head; nothing where there is none.
pub(crate) async fn http(port: u16, request: &str) -> String {
    let ask = async {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok::<_, std::io::Error>(answer)
    };
    let answer = ask.await.unwrap_or_default();
    answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default()
}

impl Server {
    async fn start(parts: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("tailorbird-kubernetes-").tempdir().unwrap().keep();
        let [client, peer, port] = free_ports();
        write_keys(&folder);
        fs::write(folder.join("tokens"), format!("{ADMIN},{ADMIN},1,system:masters\n{USER},{USER},2\n"))
            .unwrap();
        let (parts, at) = (parts.display(), folder.display());
        let script = format!(
            "'{parts}/etcd' --data-dir '{at}/etcd' --unsafe-no-fsync --log-level error \
               --listen-client-urls http://127.0.0.1:{client} --advertise-client-urls http://127.0.0.1:{client} \
               --listen-peer-urls http://127.0.0.1:{peer} >'{at}/etcd.log' 2>&1 &\n\
             etcd=$!\n\
             '{parts}/kube-apiserver' --etcd-servers http://127.0.0.1:{client} --bind-address 127.0.0.1 \
               --secure-port {port} --cert-dir '{at}/certs' --token-auth-file '{at}/tokens' \
               --authorization-mode RBAC --service-account-issuer https://localhost \
               --service-account-key-file '{at}/public.pem' --service-account-signing-key-file '{at}/private.pem' \
               --service-cluster-ip-range 10.96.0.0/12,fd00:96::/112 --endpoint-reconciler-type none --allow-privileged \
               --disable-admission-plugins ServiceAccount,NamespaceLifecycle >'{at}/apiserver.log' 2>&1 &\n\
             apiserver=$!\n\
             read -r _\n\
             kill -9 $apiserver $etcd\n\
             wait\n\
             rm -rf '{at}'\n"
        );
        let alive = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { _alive: alive, folder, port };
        server.wait().await;
        server
    }

    async fn wait(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let is_there = self.folder.join("certs/apiserver.crt").exists();
            if is_there && self.client(ADMIN).await.request_text(get("/readyz")).await.is_ok() {
                break;
            }
            if Instant::now() > deadline {
                let log = fs::read_to_string(self.folder.join("apiserver.log")).unwrap_or_default();
                panic!("the API server does not become ready: {log}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Where it is found.
    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// A kubeconfig for a user.
    pub(crate) fn kubeconfig(&self, token: &str) -> Value {
        self.kubeconfig_at(self.address(), token)
    }

    /// The same for an address that leads to it.
    pub(crate) fn kubeconfig_at(&self, address: SocketAddr, token: &str) -> Value {
        let authority = self.folder.join("certs/apiserver.crt");
        kubeconfig(&format!("https://{address}"), Some(&authority), token)
    }

    /// A client of a user, in the runtime at hand.
    pub(crate) async fn client(&self, token: &str) -> kube::Client {
        let config = serde_json::from_value(self.kubeconfig(token)).unwrap();
        let mut config = kube::Config::from_custom_kubeconfig(config, &Default::default()).await.unwrap();
        // An error of the API server is an answer too.
        config.default_retry = false;
        kube::Client::try_from(config).unwrap()
    }
}

/// A kubeconfig for a server.
pub(crate) fn kubeconfig(server: &str, authority: Option<&Path>, token: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server, "certificate-authority": authority}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    })
}

pub(crate) fn get(path: &str) -> http::Request<Vec<u8>> {
    http::Request::get(path).body(Vec::new()).unwrap()
}

/// The keys that the API server signs tokens with.
fn write_keys(folder: &Path) {
    /// What stands before the point of a P-256 key in a SubjectPublicKeyInfo.
    const PUBLIC: [u8; 26] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
        0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    ];
    let pem = |label: &str, bytes: &[u8]| {
        format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", BASE64.encode(bytes))
    };
    let random = SystemRandom::new();
    let private = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, private.as_ref(), &random).unwrap();
    let public = [&PUBLIC[..], pair.public_key().as_ref()].concat();
    fs::write(folder.join("private.pem"), pem("PRIVATE KEY", private.as_ref())).unwrap();
    fs::write(folder.join("public.pem"), pem("PUBLIC KEY", &public)).unwrap();
}
