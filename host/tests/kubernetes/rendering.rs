//! Objects in the API are rendered as the same objects from files.

use crate::cluster::Cluster;
use crate::follow::{Followed, pace};
use crate::objects::{cluster, settings};

#[tokio::test]
async fn a_cluster_is_rendered_as_from_files_and_followed() {
    let Some(api) = Cluster::take().await else { return };
    let objects = cluster();
    api.apply_all(&objects).await;
    let mut followed = Followed::start(api.deployed(&["bgp"]).await, settings(), pace()).await;
    followed.until_rendered("the start", &objects).await;
    followed.until_more_came_and_went(&api, &objects).await;
    followed.stop().await;
}
