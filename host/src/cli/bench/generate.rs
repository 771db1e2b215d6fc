//! `tailorbird bench generate`.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::cli::output::{self, Exit, Format};
use crate::generator::{ClusterSpec, Topology, write_folder};

const HELP: &str = "\
The same options give the same bytes, in every version. `kubectl apply -f FOLDER` creates the cluster where Calico's kinds are
installed and the service network is 10.96.0.0/12,fd00:96::/108; `tailorbird bench render --objects FOLDER` measures on it.
The nodes are called node-00000 and on.";

/// Arguments of `bench generate`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The folder that the manifests go to; it must be empty, or not be there
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Nodes
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    nodes: u32,
    /// Another seed gives another cluster of the same shape
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// How the nodes peer
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Peering::Mesh)]
    topology: Peering,
    /// Zones
    #[arg(long, value_name = "NUMBER", default_value_t = 3)]
    zones: u32,
    /// Racks of each zone; unless given, as many as hold about 40 nodes each
    #[arg(long, value_name = "NUMBER")]
    racks: Option<u32>,
    /// Every how many nodes one has an AS number of its own; 0 for none
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    own_as_every: u32,
    /// Services; twice the nodes, unless given
    #[arg(long, value_name = "NUMBER")]
    services: Option<u32>,
    /// EndpointSlices of each Service
    #[arg(long, value_name = "NUMBER", default_value_t = 3)]
    slices: u32,
    /// IPPools of each family
    #[arg(long, value_name = "NUMBER", default_value_t = 2)]
    pools: u32,
    /// Blocks of each node, in each family
    #[arg(long, value_name = "NUMBER", default_value_t = 2)]
    blocks: u32,
    /// BGPFilters
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    filters: u32,
    /// BGPPeers to routers outside the cluster, besides those that the topology needs
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    peers: u32,
    /// Secrets with passwords of sessions
    #[arg(long, value_name = "NUMBER", default_value_t = 4)]
    secrets: u32,
    /// No IPv6
    #[arg(long)]
    ipv4_only: bool,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Peering {
    /// Every node with every other
    Mesh,
    /// With two route reflectors in each zone
    Reflectors,
    /// With the switch on top of the rack
    TopOfRack,
}

impl Args {
    fn spec(&self) -> ClusterSpec {
        let topology = match self.topology {
            Peering::Mesh => Topology::Mesh,
            Peering::Reflectors => Topology::Reflectors { per_zone: 2 },
            Peering::TopOfRack => Topology::TopOfRack,
        };
        let zones = self.zones.max(1);
        ClusterSpec {
            nodes: self.nodes,
            zones: self.zones,
            racks_per_zone: self
                .racks
                .unwrap_or_else(|| self.nodes.div_ceil(zones.saturating_mul(40)).max(1)),
            topology,
            own_as_every: self.own_as_every,
            services: self.services.unwrap_or(self.nodes * 2),
            slices_per_service: self.slices,
            pools: self.pools,
            blocks_per_node: self.blocks,
            filters: self.filters,
            peers: self.peers,
            secrets: self.secrets,
            dual_stack: !self.ipv4_only,
            seed: self.seed,
        }
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let spec = args.spec();
    spec.check().map_err(|error| anyhow!("no such cluster can be generated: {error}"))?;
    let files = write_folder(&spec, &args.out).map_err(|error| anyhow!("--out {error}"))?;
    let objects: usize = files.iter().map(|(_, count)| count).sum();
    output::print(&match args.output {
        Format::Text => {
            let mut text = String::new();
            for (path, count) in &files {
                // A String takes everything.
                let _ = writeln!(text, "{count:>7}  {}", path.display());
            }
            let _ = writeln!(text, "{objects:>7}  objects, of which {} are nodes", spec.nodes);
            text
        }
        Format::Json => {
            let files = files.iter().map(|(path, count)| json!({ "path": path, "objects": count }));
            format!(
                "{:#}\n",
                json!({ "files": files.collect::<Value>(), "objects": objects, "nodes": spec.nodes, "seed": spec.seed })
            )
        }
    })?;
    Ok(Exit::Done)
}
