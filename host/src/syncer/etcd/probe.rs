//! Tries the way to each member, step by step.

use super::config::{Config, Endpoint, Members, Pace, Tls};
use super::connection::{self, Connection};
use super::discovery::{self, Discovery};
use super::known::range;
use super::message::RangeRequest;
use super::resolver;
use crate::engine::Settings;
use crate::syncer::backoff::chance;
use crate::syncer::mirror::folders;
use crate::syncer::step::{MAX_SHOWN, Step, look_up, tell, unconnected};
use crate::types::tame;

/// How many of the members that DNS names are tried: it may name any number.
const MOST: usize = 16;

/// Asks DNS for the members where they are not named, reads the certificates, looks every endpoint up, connects to it, says
/// who asks, and asks it how it is and for one key of each folder.
pub async fn probe(config: &Config, settings: &Settings) -> Vec<Step> {
    let mut steps = Vec::new();
    let endpoints = match &config.members {
        Members::Named(endpoints) => endpoints.all().to_vec(),
        Members::Discovered(discovery) => discover(discovery, &config.tls, &mut steps).await,
    };
    let tls = &config.tls;
    if endpoints.iter().any(|endpoint| endpoint.is_secure) {
        let shown = tls.authority.iter().chain(tls.identity.as_ref().map(|identity| &identity.certificate));
        steps.extend(shown.map(|pem| Step::new(format!("etcd: {pem}"), pem.describe())));
        let usable = connection::client(tls).map(|_| "can be used".to_owned());
        steps.push(Step::new("etcd: authorities, certificate and key", usable));
    }
    for endpoint in &endpoints {
        try_member(config, endpoint, settings, &mut steps).await;
    }
    steps
}

async fn discover(discovery: &Discovery, tls: &Tls, steps: &mut Vec<Step>) -> Vec<Endpoint> {
    let answers = resolver::ask(discovery, Pace::default().look_up).await;
    let members = discovery::members(&answers, tls, chance);
    let shown = answers.map(|answer| answer.to_string()).join("; ");
    let found = members.as_ref().map(|_| shown).map_err(Clone::clone);
    tell(steps, format!("etcd: SRV records of {}", discovery.domain), found);
    members.unwrap_or_default().into_iter().take(MOST).collect()
}

async fn try_member(config: &Config, endpoint: &Endpoint, settings: &Settings, steps: &mut Vec<Step>) {
    let pace = Pace::default();
    let mut take = |what: &str, found| tell(steps, format!("etcd: {what} {endpoint}"), found);
    let found = look_up(&endpoint.host, endpoint.port, pace.dial).await;
    if !take("look up", found) {
        return;
    }
    let bare = Connection::connect(&config.tls, endpoint, &pace).await;
    let found = match &bare {
        Ok(connection) => Ok(connection.peer().map_or_else(|| "without TLS".to_owned(), str::to_owned)),
        Err(failure) => Err(unconnected("etcd", &failure.to_string())),
    };
    if !take("connect to", found) {
        return;
    }
    let opened = Connection::open(config, endpoint, &pace).await;
    let found = opened.as_ref().map_err(ToString::to_string).map(|connection| match &config.user {
        Some(user) if connection.is_known() => format!("as {:?}", tame(&user.name, MAX_SHOWN)),
        Some(_) => "it asks nobody who he is".to_owned(),
        None => "without a user".to_owned(),
    });
    take("ask", found);
    let Ok(mut connection) = opened else { return };
    let found = match connection.status().await {
        Ok(status) if status.leader == 0 => Err(format!(
            "version {}, but it has no leader: most of the members must be up and reach each other",
            status.version
        )),
        Ok(status) if is_too_old(&status.version) => Err(format!(
            "version {}: it does not say how far a watch is; 3.4 or later is needed",
            status.version
        )),
        Ok(status) => Ok(format!("version {}", status.version)),
        // Who may read Calico's keys need not be allowed to ask this.
        Err(failure) if failure.to_string().contains("permission denied") => {
            Ok("the version is not told to this user".to_owned())
        }
        Err(failure) => Err(failure.to_string()),
    };
    if !take("version of", found) {
        return;
    }
    for folder in folders(settings) {
        let request = RangeRequest { limit: 1, keys_only: true, ..range(&folder) };
        let found = match connection.range(request).await {
            Ok(page) if page.kvs.is_empty() => Ok("allowed; there is nothing in it".to_owned()),
            Ok(_) => Ok("allowed".to_owned()),
            Err(failure) => Err(failure.to_string()),
        };
        take(&format!("read {folder} at"), found);
    }
}

/// Whether a version is known to be older than the oldest that can be followed.
fn is_too_old(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    matches!((parts.next().flatten(), parts.next().flatten()), (Some(major), Some(minor)) if (major, minor) < (3, 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_says_nothing_is_tried() {
        let old = ["2.3.8", "3.3.27"];
        let fine = ["3.4.0", "3.10.1-rc.1", "4.0", "", "v3"];
        assert!(old.into_iter().all(is_too_old) && !fine.into_iter().any(is_too_old));
    }
}
