//! What goes wrong on the way: after each fault, the rendering is the one of the same objects from files.
//!
//! A real API server says 410 when it is asked for a version of long ago, which the proxy makes of a watch. It cannot be made
//! to answer 429 or 500 on demand, nor to cut or stall a stream at a chosen byte.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tailorbird::syncer::kubernetes::Pace;

use crate::cluster::Cluster;
use crate::follow::{Followed, pace};
use crate::objects::{calico, cluster, node, peer, settings};
use crate::proxy::{Fault, Proxy, Seen};
use crate::server::{ADMIN, free_ports, kubeconfig};
use crate::wire::{Harm, Wire, each_harm_changes_nothing_in_the_end};

/// A cluster behind a proxy, and its sources in sync.
struct Scene {
    api: Cluster,
    proxy: Proxy,
    followed: Followed,
    objects: Vec<Value>,
}

impl Scene {
    async fn start(pace: Pace) -> Option<Self> {
        let api = Cluster::take().await?;
        let objects = cluster();
        api.apply_all(&objects).await;
        let proxy = Proxy::start(api.server).await;
        let followed = Followed::start(api.put(&proxy.kubeconfig()), settings(), pace).await;
        let mut scene = Self { api, proxy, followed, objects };
        scene.settled("the start").await;
        Some(scene)
    }

    async fn settled(&mut self, what: &str) {
        self.followed.until_rendered(what, &self.objects).await;
    }

    async fn add(&mut self, object: Value) {
        self.api.apply(&object).await;
        self.objects.push(object);
    }

    /// Deletes the object that was added last.
    async fn take_back(&mut self) {
        let object = self.objects.pop().unwrap();
        self.api.delete(&object).await;
    }

    fn lists(&self, resource: &'static str) -> usize {
        self.proxy.seen(|seen| seen.is_list(resource)).len()
    }
}

#[tokio::test]
async fn harm_on_the_way_changes_nothing_in_the_end() {
    let Some(api) = Cluster::take().await else { return };
    let objects = cluster();
    api.apply_all(&objects).await;
    let wire = Wire::to(api.server.address()).await;
    let kubeconfig = api.put(&api.server.kubeconfig_at(wire.address, ADMIN));
    let short = Duration::from_secs(1);
    let pace = Pace { answer: short, silence: short, grace: Duration::from_secs(30), ..pace() };
    // To the first connection of many, which is TLS: in the midst of its beginning, and of what is asked for.
    let harms = [
        Harm::Cut(0),
        Harm::Cut(700),
        Harm::Cut(3000),
        Harm::Silence(0),
        Harm::Silence(3000),
        Harm::Garbage(0),
        Harm::Garbage(3000),
        Harm::Flip(1000),
        Harm::Flip(3000),
        Harm::Slow,
    ];
    let follow = async |_| Followed::start(kubeconfig.clone(), settings(), pace).await;
    each_harm_changes_nothing_in_the_end(wire, &harms, &api, &objects, follow).await;
}

#[tokio::test]
async fn a_watch_that_is_cut_anywhere_goes_on_where_it_was() {
    let Some(mut scene) = Scene::start(pace()).await else { return };
    let offsets = [0, 1, 7, 60, 200, 333];
    for (number, offset) in (10..).zip(offsets) {
        scene.proxy.harm(1, |seen| seen.is_watch("bgppeers"), Fault::Cut(offset));
        scene.add(peer(number)).await;
        scene.settled(&format!("cut after {offset} bytes")).await;
        assert!(scene.proxy.is_done());
    }
    assert_eq!(scene.lists("bgppeers"), 1);
    assert_eq!(scene.followed.of("bgppeers").losses, 0);
}

#[tokio::test]
async fn a_watch_that_falls_silent_is_given_up() {
    let silence = Duration::from_millis(400);
    let Some(mut scene) = Scene::start(Pace { silence, ..pace() }).await else { return };
    for (number, offset) in (10..).zip([0, 100]) {
        scene.proxy.harm(1, |seen| seen.is_watch("bgppeers"), Fault::Silence(offset));
        scene.add(peer(number)).await;
        scene.settled(&format!("silent after {offset} bytes")).await;
        assert!(scene.proxy.is_done());
    }
    assert_eq!(scene.lists("bgppeers"), 1);
}

/// While nobody looks, an object is deleted and another changed, and the history of both is lost.
#[tokio::test]
async fn after_a_lost_history_what_was_deleted_is_gone() {
    // The last two are the API server's own word: it does not know what happened since so long ago; and what is known here is
    // newer than all that it has, as after older data was put back.
    for fault in [Fault::Answer(410, None), Fault::Event(410), Fault::OLDEST, Fault::NEWEST] {
        let Some(mut scene) = Scene::start(Pace { silence: Duration::from_secs(1), ..pace() }).await else {
            return;
        };
        scene.add(peer(10)).await;
        scene.settled("a peer").await;
        scene.proxy.harm(1, |seen| seen.is_watch("bgppeers"), Fault::Cut(0));
        let is_first = |seen: &Seen| seen.is_watch("bgppeers") || seen.is_confirmation("bgppeers");
        // Who asks for a version that is not there yet hears nothing, asks whether it is, and hears that it is not.
        let times = if matches!(fault, Fault::Version(version) if version > 1) { 2 } else { 1 };
        scene.proxy.harm(times, is_first, fault.clone());
        scene.take_back().await;
        scene.add(peer(11)).await;
        scene.settled(&format!("{fault:?}")).await;
        assert!(scene.proxy.is_done());
        assert_eq!((scene.lists("bgppeers"), scene.followed.of("bgppeers").losses), (2, 1), "{fault:?}");
        // What is as it was is not told again.
        let told = scene.followed.of("bgppeers").events.len();
        assert_eq!(told, 2 + 1 + 2, "peers at the start, one more, one new and one gone");
    }
}

#[tokio::test]
async fn a_history_that_is_lost_again_and_again_is_no_loop() {
    let first_wait = Duration::from_millis(100);
    let slow = Pace { first_wait, longest_wait: Duration::from_secs(10), ..pace() };
    let Some(mut scene) = Scene::start(slow).await else { return };
    scene.proxy.harm(1, |seen| seen.is_watch("bgppeers"), Fault::Cut(0));
    scene.proxy.harm(usize::MAX, |seen| seen.is_watch("bgppeers"), Fault::Event(410));
    scene.add(peer(10)).await;
    scene.followed.during(Duration::from_millis(1500)).await;
    let lists = scene.lists("bgppeers") - 1;
    // Waits of 50, 100, 200, 400 and 800 ms at least.
    assert!((1..=5).contains(&lists), "{lists} lists in 1.5 s");
    scene.proxy.spare();
    scene.settled("the end").await;
}

#[tokio::test]
async fn a_list_goes_on_after_what_happens_between_and_within_pages() {
    let Some(api) = Cluster::take().await else { return };
    let mut objects = cluster();
    objects.extend((20..40).map(node));
    api.apply_all(&objects).await;
    let later = |seen: &Seen| seen.is_later_page("nodes");
    let pace = Pace { page: 5, newest: true, ..pace() };
    for (fault, pages) in [
        (Fault::Answer(500, None), 5),
        (Fault::Answer(429, Some(0)), 5),
        (Fault::Cut(0), 5),
        (Fault::Cut(900), 5),
        (Fault::Silence(1500), 5),
        // The pages that are left are too old: everything is listed anew, in one.
        (Fault::Answer(410, None), 1),
    ] {
        let proxy = Proxy::start(api.server).await;
        proxy.harm(1, later, fault.clone());
        let answer = if matches!(fault, Fault::Silence(_)) { Duration::from_secs(1) } else { pace.answer };
        let pace = Pace { answer, ..pace };
        let mut followed = Followed::start(api.put(&proxy.kubeconfig()), settings(), pace).await;
        followed.until_rendered(&format!("{fault:?}"), &objects).await;
        assert!(proxy.is_done());
        let (all, later) = (proxy.seen(|seen| seen.is_list("nodes")).len(), proxy.seen(later).len());
        let (first, again) = if pages == 1 { (2, 0) } else { (1, 1) };
        assert_eq!(
            (all - later, later),
            (first, if pages == 1 { 1 } else { pages - 1 + again }),
            "{fault:?}"
        );
        followed.stop().await;
    }
}

#[tokio::test]
async fn errors_at_the_start_are_told_and_tried_again_at_growing_distances() {
    let Some(api) = Cluster::take().await else { return };
    let objects = cluster();
    api.apply_all(&objects).await;
    let proxy = Proxy::start(api.server).await;
    proxy.harm(usize::MAX, |seen| seen.is_list("services"), Fault::Answer(500, None));
    let pace = Pace { first_wait: Duration::from_millis(50), longest_wait: Duration::from_secs(5), ..pace() };
    let mut followed = Followed::start(api.put(&proxy.kubeconfig()), settings(), pace).await;
    followed.until("the loss", |followed| followed.of("services").lost.is_some()).await;
    let reason = followed.of("services").lost.clone().unwrap();
    assert_eq!(reason, "services cannot be read: 500: harm is done");
    followed.during(Duration::from_millis(800)).await;
    assert_eq!(followed.not_in_sync(), ["services"]);
    let tries = proxy.seen(|seen| seen.is_list("services")).len();
    // Waits of 25, 50, 100, 200 and 400 ms at least.
    assert!((1..=7).contains(&tries), "{tries} tries in 0.8 s");
    proxy.spare();
    followed.until_rendered("the end", &objects).await;
}

#[tokio::test]
async fn an_api_server_that_asks_for_patience_gets_it() {
    let Some(api) = Cluster::take().await else { return };
    let objects = cluster();
    api.apply_all(&objects).await;
    let proxy = Proxy::start(api.server).await;
    proxy.harm(1, |seen| seen.is_list("nodes"), Fault::Answer(429, Some(1)));
    let mut followed = Followed::start(api.put(&proxy.kubeconfig()), settings(), pace()).await;
    followed.until_rendered("the end", &objects).await;
    let lists = proxy.seen(|seen| seen.is_list("nodes"));
    assert_eq!(lists.len(), 2);
    assert!(lists[1].at - lists[0].at >= Duration::from_secs(1));
}

/// However long it takes, as long as it goes on.
#[tokio::test]
async fn a_list_that_comes_slowly_is_read_to_its_end() {
    let Some(api) = Cluster::take().await else { return };
    let mut objects = cluster();
    objects.extend((20..40).map(node));
    api.apply_all(&objects).await;
    let proxy = Proxy::start(api.server).await;
    proxy.harm(1, |seen| seen.is_list("nodes"), Fault::Slow(60));
    let answer = Duration::from_millis(1500);
    let begun = Instant::now();
    let mut followed =
        Followed::start(api.put(&proxy.kubeconfig()), settings(), Pace { answer, ..pace() }).await;
    followed.until_rendered("the end", &objects).await;
    assert!(begun.elapsed() > answer, "it was not slow");
    assert_eq!(proxy.seen(|seen| seen.is_list("nodes")).len(), 1);
}

/// The API server cannot be asked, and when it can again, the permission is gone: what was read before stands.
#[tokio::test]
async fn a_permission_that_is_lost_while_the_api_server_was_away_is_no_reason_to_wait() {
    let Some(mut scene) = Scene::start(Pace { watch: Duration::from_secs(1), ..pace() }).await else {
        return;
    };
    scene.proxy.harm(usize::MAX, |seen| seen.is_watch("bgpfilters"), Fault::Answer(500, None));
    scene.followed.until("the loss", |followed| followed.of("bgpfilters").lost.is_some()).await;
    scene.proxy.spare();
    scene.proxy.harm(usize::MAX, |seen| seen.is_watch("bgpfilters"), Fault::Answer(403, None));
    scene.followed.until("the problem", |followed| !followed.of("bgpfilters").problems.is_empty()).await;
    scene.add(peer(10)).await;
    scene.settled("the others").await;
}

#[tokio::test]
async fn an_api_server_that_is_down_is_waited_for() {
    let Some(api) = Cluster::take().await else { return };
    let mut objects = cluster();
    api.apply_all(&objects).await;
    let [port] = free_ports();
    let file = api.put(&kubeconfig(&format!("http://127.0.0.1:{port}"), None, ADMIN));
    let mut followed = Followed::start(file, settings(), pace()).await;
    followed
        .until("all lost", |followed| {
            followed.states.iter().all(|state| state.lost.is_some() || state.in_sync)
        })
        .await;
    // No Secret is needed as long as no peer is known.
    assert_eq!(followed.not_in_sync().len(), 8);
    let proxy = Proxy::start_at(api.server, port).await;
    followed.until_rendered("up", &objects).await;

    drop(proxy);
    let down = Instant::now();
    followed.until("down", |followed| followed.states.iter().all(|state| !state.in_sync)).await;
    assert!(down.elapsed() >= pace().grace, "a moment without the API server is no loss");
    objects.push(peer(10));
    api.apply(&peer(10)).await;
    let proxy = Proxy::start_at(api.server, port).await;
    followed.until_rendered("up again", &objects).await;
    assert_eq!(proxy.seen(|seen| seen.is_list("bgppeers")).len(), 0, "the watch goes on without a list");

    // So long that nobody knows any more what happened since.
    drop(proxy);
    followed.until("down", |followed| followed.states.iter().all(|state| !state.in_sync)).await;
    let gone = objects.pop().unwrap();
    api.delete(&gone).await;
    objects.push(peer(11));
    api.apply(&peer(11)).await;
    let proxy = Proxy::start_at(api.server, port).await;
    proxy.harm(1, |seen| seen.is_watch("bgppeers"), Fault::OLDEST);
    followed.until_rendered("up after long", &objects).await;
    assert!(proxy.is_done());
}

#[tokio::test]
async fn credentials_that_were_replaced_are_read_again() {
    let Some(api) = Cluster::take().await else { return };
    let objects = cluster();
    api.apply_all(&objects).await;
    let file = api.kubeconfig("expired");
    let mut followed = Followed::start(file, settings(), pace()).await;
    followed.until("refused", |followed| followed.of("nodes").lost.is_some()).await;
    assert!(
        followed.of("nodes").lost.as_ref().unwrap().contains("401: Unauthorized"),
        "{:?}",
        followed.of("nodes")
    );
    api.kubeconfig(ADMIN);
    followed.until_rendered("accepted", &objects).await;
}

/// Objects that no version of this program can read are reported one by one, and the rest is followed.
#[tokio::test]
async fn an_object_that_cannot_be_understood_is_reported() {
    let Some(mut scene) = Scene::start(pace()).await else { return };
    for spec in [json!("what"), json!({"peerIP": {"v9": "10.0.0.1"}}), json!([1, 2])] {
        scene.api.apply(&calico("BGPPeer", "odd", spec)).await;
        let is_reported = |followed: &Followed| {
            followed.engine.reports().any(|report| report.error.object.to_string() == "BGPPeer odd")
        };
        scene.followed.until("the report", is_reported).await;
        scene.settled("the rest").await;
    }
    scene.add(peer(10)).await;
    scene.settled("the rest goes on").await;
}
