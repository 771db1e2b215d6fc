//! Tries the way to each instance, step by step.

use std::net::SocketAddr;

use tokio::time::Instant;

use super::config::{Config, Pace};
use super::connection::Connection;
use super::discovery::Discovery;
use super::session::Session;
use super::tls;
use crate::engine::Settings;
use crate::syncer::certificates::Pem;
use crate::syncer::kubernetes::Access;
use crate::syncer::mirror::Mirror;
use crate::syncer::step::{MAX_REASON, MAX_SHOWN, Step, unconnected};
use crate::types::tame;

/// How many instances are tried.
const MOST: usize = 8;

/// Looks for the instances, reads the certificates, and greets each instance. `access` leads to the API server that has
/// the Service, where there is one.
pub async fn probe(config: &Config, access: Option<Access>, settings: &Settings) -> Vec<Step> {
    let mut steps = Vec::new();
    if let Some(tls) = &config.tls {
        for file in [&tls.authority, &tls.certificate] {
            steps.push(Step::new(format!("typha: {}", file.display()), Pem::from(&**file).describe()));
        }
        let usable = tls::client(tls).map(|_| "they belong together".to_owned());
        steps.push(Step::new("typha: certificate and key", usable));
    }
    let discovery = Discovery::new(config.at.clone(), access, settings.kubernetes_node.clone());
    let instances = discovery.addresses().await;
    let shown = |all: &Vec<SocketAddr>| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    steps.push(Step::new("typha: instances", instances.as_ref().map(shown).map_err(Clone::clone)));
    for address in instances.unwrap_or_default().into_iter().take(MOST) {
        let connection = match Connection::open(config, address, Pace::default().dial).await {
            Ok(connection) => connection,
            Err(reason) => {
                let reason = unconnected("Typha", &tame(&reason, MAX_REASON));
                steps.push(Step::new(format!("typha: connect to {address}"), Err(reason)));
                continue;
            }
        };
        let said = connection.peer().map_or_else(|| "without TLS".to_owned(), str::to_owned);
        steps.push(Step::new(format!("typha: connect to {address}"), Ok(said)));
        let greeted = greet(config, connection, settings).await;
        let greeted = greeted.map_err(|reason| {
            let reason = tame(&reason, MAX_REASON);
            format!("{reason}; where Typha speaks TLS, both certificates must be of one authority and the names as wanted")
        });
        steps.push(Step::new(format!("typha: greet {address}"), greeted));
    }
    steps
}

async fn greet(config: &Config, mut connection: Connection, settings: &Settings) -> Result<String, String> {
    let (mut session, hello) = Session::begin(settings.node.as_str(), 1);
    connection.send(&hello, config.write).await?;
    let mut mirror = Mirror::new("Typha", settings);
    let deadline = Instant::now() + config.read;
    loop {
        let bytes = tokio::time::timeout_at(deadline, connection.receive()).await;
        let bytes = bytes.map_err(|_| "there is no answer to the greeting".to_owned())??;
        session.take(bytes, &mut mirror)?;
        if let Some(version) = session.version() {
            return Ok(format!("version {}", tame(version, MAX_SHOWN)));
        }
    }
}
