//! The datastores of a running cluster, against a real API server, a real Typha and a real etcd.
//!
//! `KUBEBUILDER_ASSETS` names the folder of `etcd` and `kube-apiserver`, as `setup-envtest` installs them. Without it these
//! tests pass and say that they were skipped.

#![allow(clippy::unwrap_used)]

mod access;
mod cases;
mod cluster;
#[path = "../cli/common.rs"]
#[allow(dead_code)]
mod common;
mod deployed;
mod discovery;
mod dns;
mod doctor;
mod etcd;
mod etcds;
mod events;
mod faults;
mod follow;
mod objects;
mod papers;
mod program;
mod proxy;
mod rendering;
mod server;
mod standing;
mod stored;
#[path = "../support/mod.rs"]
mod support;
mod typha;
mod typhas;
mod wire;
