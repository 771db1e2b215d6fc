//! Events into tables.

use super::Dirty;
use crate::engine::config::Owner as ConfigurationOwner;
use crate::engine::nodes::{Node, Said, Source};
use crate::engine::{Engine, Event};
use crate::resources::{Kind, ObjectError, ObjectKey, Parsed, Resource};
use crate::types::ValueError;

impl Engine {
    /// Takes an event into its table.
    pub(in crate::engine) fn take(&mut self, event: Event, dirty: &mut Dirty) {
        let (key, object) = match event {
            Event::Delete(key) => {
                self.reports.clear_all(&key);
                (key, None)
            }
            Event::Upsert(Parsed { key, resource, warnings }) => {
                self.reports.clear(&key, "parsed");
                self.reports.clear(&key, "");
                for warning in warnings {
                    self.reports.warn(&key, "parsed", warning);
                }
                if let Err(error) = &resource {
                    self.reports.left_out(error.clone());
                }
                (key, Some(resource))
            }
        };
        self.take_object(&key, object, dirty);
    }

    fn take_object(
        &mut self,
        key: &ObjectKey,
        object: Option<Result<Resource, ObjectError>>,
        dirty: &mut Dirty,
    ) {
        let name = &key.name;
        match key.kind {
            Kind::CalicoNode | Kind::KubeNode => {
                let source = if key.kind == Kind::CalicoNode { Source::Calico } else { Source::Kubernetes };
                let published = &self.settings.published;
                let said = match object {
                    None => Said::Nothing,
                    Some(Ok(Resource::CalicoNode(node))) => {
                        Said::Node(Node::calico(node, published, &mut self.texts).into())
                    }
                    Some(Ok(Resource::KubeNode(node))) => {
                        Said::Node(Node::kubernetes(node, published, &mut self.texts).into())
                    }
                    Some(_) => Said::Malformed,
                };
                self.nodes.say(name, source, said);
                dirty.nodes.insert(name.clone());
            }
            Kind::BgpConfiguration => {
                let object = object.map(|object| match object {
                    Ok(Resource::BgpConfiguration(configuration)) => Ok(*configuration),
                    other => Err(error_of(key, other)),
                });
                match self.configurations.set(key, object, &mut self.reports) {
                    ConfigurationOwner::Cluster => dirty.configuration = true,
                    ConfigurationOwner::Node(node) => drop(dirty.node_configurations.insert(node)),
                    ConfigurationOwner::Nobody => {}
                }
            }
            Kind::BgpPeer => {
                let spec = object.and_then(|object| match object {
                    Ok(Resource::BgpPeer(peer)) => Some(peer),
                    _ => None,
                });
                dirty.specs.push((name.clone(), spec));
                dirty.peers.insert(key.clone());
            }
            Kind::BgpFilter => {
                let filter = object.map(|object| match object {
                    Ok(Resource::BgpFilter(filter)) => Some(filter),
                    _ => None,
                });
                dirty.filters.push((name.clone(), filter));
            }
            Kind::IpPool => {
                let pool = object.map(|object| match object {
                    Ok(Resource::IpPool(pool)) => Ok(pool),
                    other => Err(error_of(key, other)),
                });
                dirty.pools.extend(self.pools.set(key, pool));
                dirty.pools_any = true;
            }
            Kind::BlockAffinity => self.take_block(key, object, dirty),
            Kind::Service | Kind::EndpointSlice => self.take_service_part(key, object, dirty),
            Kind::Secret => {
                if key.namespace.as_ref() == Some(&self.settings.secret_namespace) {
                    let secret = object.map(|object| match object {
                        Ok(Resource::Secret(secret)) => Some(secret),
                        _ => None,
                    });
                    self.secrets.set(name, secret);
                    dirty.secrets.insert(name.clone());
                }
            }
            Kind::Workload => {
                let status = object.and_then(|object| match object {
                    Ok(Resource::Workload(status)) => Some(status),
                    _ => None,
                });
                self.peerings.set_workload(name, status, &mut dirty.peerings);
            }
        }
    }

    fn take_block(
        &mut self,
        key: &ObjectKey,
        object: Option<Result<Resource, ObjectError>>,
        dirty: &mut Dirty,
    ) {
        if self.settings.use_pod_cidr {
            return;
        }
        let block = match object {
            Some(Ok(Resource::BlockAffinity(block))) => Some(block),
            _ => None,
        };
        dirty.blocks.extend(self.blocks.set_affinity(&key.name, block.as_ref(), &self.settings.node));
    }

    fn take_service_part(
        &mut self,
        key: &ObjectKey,
        object: Option<Result<Resource, ObjectError>>,
        dirty: &mut Dirty,
    ) {
        let Some(namespace) = key.namespace.clone() else { return };
        let at = (namespace.pooled(&mut self.texts), key.name.clone());
        if key.kind == Kind::Service {
            let service = object.and_then(|object| match object {
                Ok(Resource::Service(service)) => Some(service),
                _ => None,
            });
            self.routes.set_service(&at, service);
            dirty.services.insert(at);
        } else {
            let slice = object.and_then(|object| match object {
                Ok(Resource::EndpointSlice(slice)) => Some(slice),
                _ => None,
            });
            let node = &self.settings.kubernetes_node;
            dirty.services.extend(self.routes.set_slice(&at, slice, node));
        }
    }
}

/// The error of an object that is not what its key says.
fn error_of(key: &ObjectKey, object: Result<Resource, ObjectError>) -> ObjectError {
    match object {
        Err(error) => error,
        Ok(_) => {
            ObjectError::new(key, "kind", "", &ValueError::new("the object is of another kind than its key"))
        }
    }
}
