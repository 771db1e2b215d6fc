//! Objects in the API are rendered as the same objects from files.

use serde_json::json;

use crate::cluster::Cluster;
use crate::follow::{Followed, pace};
use crate::objects::{self, cluster, node, peer, service, settings};

#[tokio::test]
async fn a_cluster_is_rendered_as_from_files_and_followed() {
    let Some(api) = Cluster::take().await else { return };
    let mut objects = cluster();
    api.apply_all(&objects).await;
    let mut followed = Followed::start(api.deployed(&["bgp"]).await, settings(), pace()).await;
    followed.until_rendered("the start", &objects).await;

    let more = [node(9), peer(9), objects::calico("IPPool", "second", json!({"cidr": "10.65.0.0/16"}))];
    objects.extend(more);
    objects.extend(service(2));
    api.apply_all(&objects[objects.len() - 5..]).await;
    followed.until_rendered("new objects", &objects).await;

    for object in objects.split_off(objects.len() - 5) {
        api.delete(&object).await;
    }
    followed.until_rendered("deleted objects", &objects).await;
    followed.stop().await;
}
