use std::fmt;

use serde::{Serialize, Serializer};

/// Makes the rules with their names, which are part of the interface.
macro_rules! rules {
    ($($(#[$doc:meta])+ $rule:ident = $name:literal,)+) => {
        /// The rules that a reason can name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule { $($(#[$doc])+ $rule,)+ }

        impl Rule {
            /// All of them.
            pub const ALL: [Rule; [$($name),+].len()] = [$(Rule::$rule),+];

            /// The name, as JSON and text have it.
            pub fn as_str(self) -> &'static str {
                match self { $(Rule::$rule => $name,)+ }
            }
        }
    };
}

rules! {
    /// A BGPPeer names the address.
    PeerAddress = "peer-address",
    /// A BGPPeer's `peerSelector` matches the node with the address.
    PeerSelector = "peer-selector",
    /// The BGPPeer of another node leads here, so this is the way back.
    ReversePeering = "reverse-peering",
    /// A local workload belongs to a BGPPeer.
    LocalWorkload = "local-workload",
    /// The mesh between all nodes.
    Mesh = "mesh",
    /// Another object has the address already.
    FirstWins = "first-wins",
    /// The address is this node's own.
    OwnAddress = "own-address",
    /// This node has no address of the family.
    NoOwnAddress = "no-own-address",
    /// The mesh is off.
    MeshOff = "mesh-off",
    /// One end is a route reflector, and so not in the mesh.
    Reflector = "reflector",
    /// The node that has a BGPPeer's peerings is another one.
    NodeSelector = "node-selector",
    /// The node at the other end is not one that a BGPPeer's `peerSelector` matches.
    NotPeerSelected = "not-peer-selected",
    /// A BGPPeer of another node names this one's address with another AS number or port.
    NoReversePeering = "no-reverse-peering",
    /// A BGPPeer names no remote end.
    NoRemoteEnd = "no-remote-end",
    /// A password's Secret.
    Password = "password",
    /// A gateway is of the other family.
    GatewayFamily = "gateway-family",
    /// A BGPFilter that a session uses, or cannot use.
    Filter = "filter",
    /// Nothing that is known has to do with it.
    Unknown = "unknown",
    /// An object is left out, or something in it has no effect.
    Report = "report",

    /// A plugin removed it.
    PluginDropped = "plugin-dropped",
    /// A plugin changed it.
    PluginChanged = "plugin-changed",
    /// A plugin added it.
    PluginAdded = "plugin-added",
    /// A plugin failed, and what it is asked about fails closed.
    PluginFailed = "plugin-failed",

    /// A prefix of the BGPConfiguration is a route.
    ConfiguredRange = "configured-range",
    /// A prefix of the BGPConfiguration is no route by itself.
    NotARange = "not-a-range",
    /// A Service is advertised from this node.
    Service = "service",
    /// A Service is not advertised from this node.
    ServiceNotAdvertised = "service-not-advertised",
    /// An address of a Service is outside the configured prefixes.
    OutsideRanges = "outside-ranges",
    /// The node is excluded from external load balancers.
    NodeExcluded = "node-excluded",
    /// A block of addresses of this node.
    Block = "block",
    /// A block of addresses that counts for nothing, or not fully.
    BlockState = "block-state",
    /// A static route to a peer.
    PeerGateway = "peer-gateway",
    /// It lies inside a route of this node.
    Covered = "covered",
    /// A pool that it lies in.
    Pool = "pool",
    /// A pool that is not exported.
    PoolNotExported = "pool-not-exported",
    /// A route reflector passes it on.
    Reflected = "reflected",
    /// It is never programmed into the kernel.
    NotProgrammed = "not-programmed",

    /// A function of a BGPFilter.
    FilterFunction = "filter-function",
    /// A session calls a BGPFilter.
    FilterUse = "filter-use",
    /// Nothing calls a BGPFilter, or it has no rules there.
    FilterUnused = "filter-unused",
    /// A BGPFilter is malformed, so those that name it refuse all routes.
    FilterClosed = "filter-closed",
    /// There is no object of this name.
    Missing = "missing",
    /// Names that are near.
    NearName = "near-name",

    /// An address of a node.
    NodeAddress = "node-address",
    /// A node has no address.
    NodeWithoutAddress = "node-without-address",
    /// A node's AS number and port.
    NodeAs = "node-as",
    /// The sessions of this node that come of a BGPPeer.
    NodeSession = "node-session",
    /// Labels of a node that selectors mention.
    NodeLabels = "node-labels",
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
