//! Asks DNS for SRV records.

use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::RData;

use super::discovery::{Answer, Discovery, NameServers, Record};

/// Asks for each service of a domain, within a time.
pub(super) async fn ask(discovery: &Discovery, within: Duration) -> [Answer; 2] {
    let resolver = resolver(discovery.servers);
    let ask = async |(name, is_secure): (String, bool)| {
        let found = match &resolver {
            Ok(resolver) => records(resolver, &name, within).await,
            Err(reason) => Err(reason.clone()),
        };
        Answer::new(name, is_secure, found)
    };
    let [secure, bare] = discovery.domain.services();
    tokio::join!(ask(secure), ask(bare)).into()
}

/// A resolver that remembers nothing, as it is asked once.
fn resolver(servers: NameServers) -> Result<TokioResolver, String> {
    let built = match servers {
        NameServers::System => TokioResolver::builder_tokio(),
        NameServers::At(at) => {
            let mut connections = vec![ConnectionConfig::udp(), ConnectionConfig::tcp()];
            connections.iter_mut().for_each(|connection| connection.port = at.port());
            let server = NameServerConfig::new(at.ip(), true, connections);
            let config = ResolverConfig::from_name_servers(vec![server]);
            Ok(TokioResolver::builder_with_config(config, TokioRuntimeProvider::default()))
        }
    };
    let built = built.and_then(|mut builder| {
        let options = builder.options_mut();
        options.cache_size = 0;
        options.use_hosts_file = ResolveHosts::Never;
        builder.build()
    });
    built.map_err(|error| format!("/etc/resolv.conf: {}", reason(&error)))
}

async fn records(resolver: &TokioResolver, name: &str, within: Duration) -> Result<Vec<Record>, String> {
    let found = tokio::time::timeout(within, resolver.srv_lookup(name)).await;
    let found = found.map_err(|_| silent())?.map_err(|error| reason(&error))?;
    let records = found.answers().iter().filter_map(|record| match &record.data {
        RData::SRV(srv) => Some(Record {
            priority: srv.priority,
            weight: srv.weight,
            port: srv.port,
            target: srv.target.to_ascii(),
        }),
        _ => None,
    });
    Ok(records.collect())
}

fn silent() -> String {
    "the name servers do not answer".to_owned()
}

/// Why there is no answer, in words.
fn reason(error: &NetError) -> String {
    match error {
        NetError::Timeout => silent(),
        NetError::Dns(DnsError::NoRecordsFound(none)) if none.response_code == ResponseCode::NXDomain => {
            "there is no such name".to_owned()
        }
        NetError::Dns(DnsError::NoRecordsFound(_)) => "it has no SRV records".to_owned(),
        NetError::Dns(DnsError::ResponseCode(code)) => format!("the name servers say \"{code}\""),
        other => other.to_string(),
    }
}
