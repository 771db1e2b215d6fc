//! A cluster as one node sees it: YAML goes in, files come out.

use std::borrow::Cow;
use std::path::Path;

use tailorbird::engine::{Changes, Engine, Event, Settings, Severity};
use tailorbird::environment;
use tailorbird::manifest::{self, Entry, Format};
use tailorbird::render::Renderer;
use tailorbird::resources::{Defaults, Kind, ObjectKey, Parsed, parse_workload};

use crate::support::bird::Birds;
use crate::support::rendered::{Files, files, renderer};
use crate::support::tokens;

/// The engine and the renderer of one node.
pub(crate) struct Cluster {
    pub(crate) engine: Engine,
    renderer: Renderer,
}

/// Looks at the files that a node has.
pub(crate) trait Look {
    /// All files as they are now.
    fn files(&mut self) -> Files;

    /// A file in normal form: see [`normal`].
    fn file(&mut self, name: &str) -> String {
        normal(&self.files()[name])
    }

    /// Asserts that a file has a fragment, white space and comments aside.
    #[track_caller]
    fn has(&mut self, file: &str, fragment: &str) {
        let text = self.file(file);
        assert!(text.contains(&normal(fragment)), "{file} has no `{fragment}`:\n{}", self.files()[file]);
    }

    /// Asserts that a file has no such fragment.
    #[track_caller]
    fn lacks(&mut self, file: &str, fragment: &str) {
        let text = self.file(file);
        assert!(!text.contains(&normal(fragment)), "{file} has `{fragment}`:\n{}", self.files()[file]);
    }

    /// The stanza `protocol bgp <name> …` of either daemon, in normal form.
    fn session(&mut self, name: &str) -> Option<String> {
        ["bird.cfg", "bird6.cfg"].into_iter().find_map(|file| {
            let text = self.file(file);
            let (_, rest) = text.split_once(&format!("protocol bgp {name} from bgp_template {{ "))?;
            let end = rest.find(" protocol bgp ").unwrap_or(rest.len());
            Some(rest[..end].trim_end_matches(" }").to_owned())
        })
    }

    /// The names of all sessions in the order of the files, IPv4 first.
    fn sessions(&mut self) -> Vec<String> {
        let files = self.files();
        let lines = ["bird.cfg", "bird6.cfg"].into_iter().flat_map(|file| files[file].lines());
        let names = lines.filter_map(|line| line.strip_prefix("protocol bgp ")?.split(' ').next());
        names.map(str::to_owned).collect()
    }

    /// Asserts that a session is there and has each of these statements.
    #[track_caller]
    fn session_has(&mut self, name: &str, statements: &[&str]) {
        let Some(text) = self.session(name) else { panic!("no {name} among {:?}", self.sessions()) };
        for statement in statements {
            assert!(text.contains(&normal(statement)), "{name} has no `{statement}`: {text}");
        }
    }

    /// Asserts that a session is there and has none of these.
    #[track_caller]
    fn session_lacks(&mut self, name: &str, statements: &[&str]) {
        let Some(text) = self.session(name) else { panic!("no {name} among {:?}", self.sessions()) };
        for statement in statements {
            assert!(!text.contains(&normal(statement)), "{name} has `{statement}`: {text}");
        }
    }
}

impl Look for Cluster {
    fn files(&mut self) -> Files {
        files(&mut self.renderer, self.engine.snapshot())
    }
}

impl Cluster {
    /// The cluster as the node of this name sees it.
    pub(crate) fn on(node: &str) -> Self {
        Self::with_env(node, &[])
    }

    /// The same with variables of the environment.
    pub(crate) fn with_env(node: &str, env: &[(&str, &str)]) -> Self {
        let lookup = |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, v)| (*v).to_owned());
        Self::with_settings(environment::settings(node.parse().unwrap(), &lookup).unwrap())
    }

    pub(crate) fn with_settings(settings: Settings) -> Self {
        let renderer = renderer(&settings.node);
        Self { engine: Engine::new(settings), renderer }
    }

    /// One batch of events.
    pub(crate) fn events(&mut self, events: impl IntoIterator<Item = Event>) -> Changes {
        let changes = self.engine.apply(events);
        self.renderer.note(&changes);
        changes
    }

    /// One batch: every object of these documents.
    pub(crate) fn apply(&mut self, yaml: &str) -> Changes {
        let defaults = Defaults::new(self.engine.settings().secret_namespace.clone());
        let events: Vec<Event> = read(yaml, &defaults).into_iter().map(Event::Upsert).collect();
        self.events(events)
    }

    /// The same, for a cluster that is being set up.
    pub(crate) fn having(mut self, yaml: &str) -> Self {
        self.apply(yaml);
        self
    }

    /// An object goes; those of a kind with namespaces live in their usual one.
    pub(crate) fn delete(&mut self, kind: Kind, name: &str) -> Changes {
        self.events([Event::Delete(key(kind, name))])
    }

    /// The status file of a local workload.
    pub(crate) fn workload(&mut self, file: &str, json: &str) -> Changes {
        self.events([Event::Upsert(parse_workload(file, json.as_bytes()))])
    }

    /// The prefixes that this node originates, of both families: those of Services, blocks and gateways.
    pub(crate) fn originated(&mut self) -> Vec<String> {
        let files = self.files();
        let lines = ["bird_aggr.cfg", "bird6_aggr.cfg"].into_iter().flat_map(|file| files[file].lines());
        let routes = lines.filter_map(|line| line.trim().strip_prefix("route ")?.strip_suffix(" blackhole;"));
        routes.map(str::to_owned).collect()
    }

    /// The prefixes that never enter the kernel.
    pub(crate) fn never_programmed(&self) -> Vec<String> {
        let view = &self.engine.snapshot().view;
        let keys = view.list("/calico/rejectcidrs").chain(view.list("/calico/rejectcidrsv6"));
        keys.map(|(_, value)| value.into_owned()).collect()
    }

    /// A value of the view, passwords hidden.
    pub(crate) fn value(&self, key: &str) -> Option<Cow<'_, str>> {
        self.engine.snapshot().view.get(key)
    }

    /// The reports as text, those of parts that were left out in front.
    pub(crate) fn reports(&self) -> Vec<String> {
        let mut all: Vec<_> = self.engine.reports().collect();
        all.sort_by_key(|report| report.severity);
        let word = |severity| if severity == Severity::LeftOut { "left out" } else { "warning" };
        all.iter().map(|report| format!("{}: {}", word(report.severity), report.error)).collect()
    }

    /// Asserts that some report has each of these words.
    #[track_caller]
    pub(crate) fn reports_on(&self, words: &[&str]) {
        let reports = self.reports();
        let found = reports.iter().any(|report| words.iter().all(|word| report.contains(word)));
        assert!(found, "no report on {words:?} in {reports:#?}");
    }

    /// Asserts that BIRD takes the files, where it is installed.
    #[track_caller]
    pub(crate) fn bird_accepts(&mut self) {
        if let Some(birds) = birds() {
            let files = self.files();
            if let Err(words) = birds.check(&files) {
                panic!("{words}\n{}\n{}", files["bird.cfg"], files["bird6.cfg"]);
            }
        }
    }
}

/// The daemons, looked for once; a message says when there are none.
pub(crate) fn birds() -> Option<&'static Birds> {
    static BIRDS: std::sync::LazyLock<Option<Birds>> = std::sync::LazyLock::new(|| {
        let found = Birds::find();
        if found.is_none() {
            println!("SKIPPED: there is no bird and bird6 (TAILORBIRD_BIRD1, or on the PATH)");
        }
        found
    });
    BIRDS.as_ref()
}

/// Every object of some YAML documents; the text must be readable.
pub(crate) fn read(yaml: &str, defaults: &Defaults) -> Vec<Parsed> {
    let mut objects = Vec::new();
    manifest::read_from(Path::new("test.yaml"), yaml.as_bytes(), Format::Yaml, defaults, &mut |at, entry| {
        match entry {
            Entry::Object(parsed) => objects.push(parsed),
            other => panic!("line {}: {other:?}", at.line),
        }
    });
    objects
}

/// The key of an object in the usual namespace of its kind.
pub(crate) fn key(kind: Kind, name: &str) -> ObjectKey {
    let namespace = match kind {
        Kind::Secret => Some("kube-system".parse().unwrap()),
        kind if kind.is_namespaced() => Some("default".parse().unwrap()),
        _ => None,
    };
    ObjectKey { kind, namespace, name: name.parse().unwrap() }
}

/// BIRD's text as tokens with one blank between them, comments left out.
pub(crate) fn normal(text: &str) -> String {
    tokens::normal(text)
}

/// An object of Calico's API as YAML; the spec is a flow mapping.
pub(crate) fn calico(kind: &str, name: &str, spec: &str) -> String {
    format!(
        "---\napiVersion: projectcalico.org/v3\nkind: {kind}\nmetadata: {{name: '{name}'}}\nspec: {spec}\n"
    )
}

/// Calico's Node with the fields of `spec.bgp` and its labels.
pub(crate) fn node(name: &str, bgp: &str, labels: &str) -> String {
    let metadata = format!("{{name: '{name}', labels: {labels}}}");
    format!("---\napiVersion: projectcalico.org/v3\nkind: Node\nmetadata: {metadata}\nspec: {{bgp: {bgp}}}\n")
}

/// The nodes `a`, `b` and `c` with addresses of both families, all in one rack.
pub(crate) fn three_nodes() -> String {
    [
        node("a", "{ipv4Address: 10.0.0.1/24, ipv6Address: 'fd00::1/64'}", "{node: a, rack: r1}"),
        node("b", "{ipv4Address: 10.0.0.2/24, ipv6Address: 'fd00::2/64'}", "{node: b, rack: r1}"),
        node("c", "{ipv4Address: 10.0.0.10/24, ipv6Address: 'fd00::10/64'}", "{node: c, rack: r1}"),
    ]
    .concat()
}

/// The cluster's BGPConfiguration.
pub(crate) fn configuration(spec: &str) -> String {
    calico("BGPConfiguration", "default", spec)
}

/// A BGPPeer.
pub(crate) fn peer(name: &str, spec: &str) -> String {
    calico("BGPPeer", name, spec)
}

/// A Service with the addresses that its load balancer has given it.
pub(crate) fn service(name: &str, spec: &str, ingress: &[&str]) -> String {
    let ips: Vec<String> = ingress.iter().map(|ip| format!("{{ip: '{ip}'}}")).collect();
    format!(
        "---\napiVersion: v1\nkind: Service\nmetadata: {{name: '{name}'}}\nspec: {spec}\n\
         status: {{loadBalancer: {{ingress: [{}]}}}}\n",
        ips.join(", ")
    )
}

/// An EndpointSlice of a Service; the endpoints are a flow list.
pub(crate) fn slice(name: &str, service: &str, address_type: &str, endpoints: &str) -> String {
    format!(
        "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n\
         metadata: {{name: '{name}', labels: {{kubernetes.io/service-name: {service}}}}}\n\
         addressType: {address_type}\nendpoints: {endpoints}\n"
    )
}

/// A Secret in the namespace of the passwords.
pub(crate) fn secret(name: &str, data: &str) -> String {
    format!("---\napiVersion: v1\nkind: Secret\nmetadata: {{name: '{name}'}}\nstringData: {data}\n")
}
