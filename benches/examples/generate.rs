//! Writes a generated cluster to standard output.

use std::io::{self, BufWriter, Write};

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};
use tailorbird_bench::{ClusterSpec, Topology, write_json, write_json_lines, write_yaml};

#[derive(Parser)]
#[command(about = "Writes a generated cluster to standard output")]
struct Args {
    /// Nodes
    #[arg(long, default_value_t = 100)]
    nodes: u32,
    /// Services; twice the nodes if not given
    #[arg(long)]
    services: Option<u32>,
    /// EndpointSlices, a multiple of the Services; three for each if not given
    #[arg(long)]
    slices: Option<u32>,
    /// How the nodes peer
    #[arg(long, value_enum, default_value_t = Peering::Mesh)]
    topology: Peering,
    /// BGPFilters
    #[arg(long, default_value_t = 10)]
    filters: u32,
    /// BGPPeers to routers outside the cluster
    #[arg(long, default_value_t = 10)]
    peers: u32,
    /// Every how many nodes one has an AS number of its own; 0 for none
    #[arg(long, default_value_t = 0)]
    own_as_every: u32,
    /// IPv4 only
    #[arg(long)]
    ipv4_only: bool,
    /// Another seed gives another cluster of the same shape
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// What to write
    #[arg(long, value_enum, default_value_t = Format::Yaml)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Peering {
    Mesh,
    Reflectors,
    TopOfRack,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// One List, as `kubectl get -o yaml` prints it
    Yaml,
    /// One List
    Json,
    /// An object a line
    JsonLines,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let topology = match args.topology {
        Peering::Mesh => Topology::Mesh,
        Peering::Reflectors => Topology::Reflectors { per_zone: 2 },
        Peering::TopOfRack => Topology::TopOfRack,
    };
    let mut spec = ClusterSpec {
        topology,
        filters: args.filters,
        peers: args.peers,
        own_as_every: args.own_as_every,
        dual_stack: !args.ipv4_only,
        seed: args.seed,
        ..ClusterSpec::mesh(args.nodes)
    };
    spec.services = args.services.unwrap_or(spec.services);
    if let Some(slices) = args.slices {
        spec.slices_per_service = slices.checked_div(spec.services).unwrap_or(0);
        ensure!(
            spec.slices_per_service * spec.services == slices,
            "--slices must be a multiple of --services"
        );
    }
    spec.check()?;

    let mut out = BufWriter::new(io::stdout().lock());
    match args.format {
        Format::Yaml => write_yaml(&spec, &mut out),
        Format::Json => write_json(&spec, &mut out),
        Format::JsonLines => write_json_lines(&spec, &mut out),
    }
    .and_then(|()| out.flush())
    .context("standard output")
}
