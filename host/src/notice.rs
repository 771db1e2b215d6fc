//! What a user must know who reads no log of this node: few things, typed, for whoever can bring them to the user.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::watch;

use crate::engine::{Report, Severity};
use crate::resources::Kind;
use crate::types::Name;

/// What a notice is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    /// This node.
    Node,
    /// A BGPPeer.
    BgpPeer(Name),
}

/// What is the matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Matter {
    /// A BGPPeer, or part of it, was left out or has no effect.
    BadPeer,
    /// A password is to be read from a Secret or a key that is not there.
    MissingSecret,
    /// BIRD does not take the files of a group.
    FailedCheck,
    /// A plugin failed again and again, and is not asked for a while.
    QuarantinedPlugin,
}

impl Matter {
    /// The matter as one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Matter::BadPeer => "BadPeer",
            Matter::MissingSecret => "MissingSecret",
            Matter::FailedCheck => "FailedCheck",
            Matter::QuarantinedPlugin => "QuarantinedPlugin",
        }
    }
}

/// Something that a user must know, for as long as it holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Notice {
    /// What it is about.
    pub about: About,
    /// What is the matter.
    pub matter: Matter,
    /// The matter in words; never a secret.
    pub text: String,
}

/// All that holds at one moment.
pub type Notices = BTreeSet<Notice>;

/// Who brings notices to users, and holds up nobody by it.
pub trait Herald: Send {
    /// Tells what comes to hold, until nobody changes it any more.
    fn run(
        self: Box<Self>,
        notices: watch::Receiver<Arc<Notices>>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

impl Notice {
    /// The notice that a report of the engine is worth, if it is worth one.
    pub fn of_report(report: &Report) -> Option<Self> {
        let object = &report.error.object;
        let is_warning = report.severity == Severity::Warning;
        let (about, matter) = match (object.kind, report.error.field.as_str()) {
            (Kind::BgpPeer, "spec.password") if is_warning => {
                (About::BgpPeer(object.name.clone()), Matter::MissingSecret)
            }
            (Kind::BgpPeer, _) => (About::BgpPeer(object.name.clone()), Matter::BadPeer),
            (Kind::BgpConfiguration, "spec.nodeMeshPassword") if is_warning => {
                (About::Node, Matter::MissingSecret)
            }
            _ => return None,
        };
        Some(Self { about, matter, text: report.error.to_string() })
    }

    /// The files of a group did not pass their check.
    pub fn failed_check(group: &str, reason: &str) -> Self {
        let text = format!("the files of {group} stay as they were, their check failed: {reason}");
        Self { about: About::Node, matter: Matter::FailedCheck, text }
    }

    /// A plugin is in quarantine.
    pub fn quarantined(plugin: &str) -> Self {
        let text = format!(
            "the plugin {plugin} failed again and again and is not asked for a while; the log of this node says why"
        );
        Self { about: About::Node, matter: Matter::QuarantinedPlugin, text }
    }
}
