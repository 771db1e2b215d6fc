//! The engine that compiles components, and all that can be linked into one.

use std::hash::BuildHasher;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use wasmtime::component::{Component, HasSelf, InstancePre, Linker};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use super::cache::Cache;
use super::contract::{filter, functions, kv, lifecycle, log, peers, types};
use super::guest::State;
use super::limits::{Limits, MAX_MEMORY, MAX_TABLE};
use super::manifest::PluginFile;
use super::{LoadError, native};

/// The most instances that there can be at once, of all plugins and renderings.
const INSTANCES: u32 = 128;

/// Bytes of stack that a guest may use.
const STACK: usize = 512 << 10;

/// Compiles plugins and knows what can be linked into them. One serves all plugins of a process.
pub struct Sandbox {
    engine: Engine,
    linker: Linker<State>,
    cache: Option<Cache>,
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox").field("cache", &self.cache).finish_non_exhaustive()
    }
}

/// A compiled component with the places of its exports.
#[derive(Clone)]
pub(super) struct Compiled {
    pub(super) pre: InstancePre<State>,
    pub(super) lifecycle: lifecycle::GuestIndices,
    pub(super) peers: Option<peers::GuestIndices>,
    pub(super) filter: Option<filter::GuestIndices>,
    pub(super) functions: Option<functions::GuestIndices>,
}

impl Sandbox {
    /// A sandbox; `cache` is a folder for compiled components, which is made if it is not there.
    ///
    /// # Errors
    /// The folder cannot be used, or the machine cannot run the sandbox.
    pub fn new(cache: Option<PathBuf>) -> Result<Self, LoadError> {
        let fail = |reason: String| LoadError::new("sandbox", reason);
        let cache = cache.as_deref().map(Cache::open).transpose().map_err(fail)?;
        // Where address space is short, instances are made one by one.
        let engine = Engine::new(&config(true)).or_else(|_| Engine::new(&config(false)));
        let engine = engine.map_err(|error| fail(format!("cannot be set up: {error:#}")))?;
        let mut linker = Linker::new(&engine);
        let linked = types::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)
            .and_then(|()| kv::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state))
            .and_then(|()| log::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state));
        linked.map_err(|error| fail(format!("cannot be set up: {error:#}")))?;
        Ok(Self { engine, linker, cache })
    }

    /// Compiles a plugin, or takes it from the cache.
    pub(super) fn compile(&self, file: &PluginFile, limits: &Limits) -> Result<Compiled, LoadError> {
        let fail = |reason: String| LoadError::new(file.name.as_str(), reason);
        let component = match self.cached(file) {
            Some(component) => component,
            None => self.compile_now(file, limits).map_err(fail)?,
        };
        // What the sections say is not the last word; this is.
        for (name, _) in component.component_type().imports(&self.engine) {
            if !file.imports.iter().any(|import| import == name) {
                return Err(fail(format!("imports `{name}`, which its sections hide")));
            }
        }
        let wrong = |error: wasmtime::Error| fail(format!("does not keep to the contract: {error:#}"));
        let pre = self.linker.instantiate_pre(&component).map_err(wrong)?;
        Ok(Compiled {
            lifecycle: lifecycle::GuestIndices::new(&pre).map_err(wrong)?,
            peers: file
                .interfaces
                .peers
                .then(|| peers::GuestIndices::new(&pre))
                .transpose()
                .map_err(wrong)?,
            filter: file
                .interfaces
                .filter
                .then(|| filter::GuestIndices::new(&pre))
                .transpose()
                .map_err(wrong)?,
            functions: file
                .interfaces
                .functions
                .then(|| functions::GuestIndices::new(&pre))
                .transpose()
                .map_err(wrong)?,
            pre,
        })
    }

    /// What tells engines apart whose compiled code is not interchangeable.
    fn compatibility(&self) -> u64 {
        rustc_hash::FxBuildHasher.hash_one(self.engine.precompile_compatibility_hash())
    }

    fn cached(&self, file: &PluginFile) -> Option<Component> {
        let compiled = self.cache.as_ref()?.get(file.digest, self.compatibility())?;
        native::deserialize(&self.engine, &compiled).ok()
    }

    fn compile_now(&self, file: &PluginFile, limits: &Limits) -> Result<Component, String> {
        let (engine, bytes) = (self.engine.clone(), file.bytes.clone());
        let (send, receive) = mpsc::sync_channel(1);
        // A compilation cannot be stopped: one that takes too long goes on by itself, and nobody waits for it.
        std::thread::Builder::new()
            .name("compile".to_owned())
            .stack_size(16 << 20)
            .spawn(move || drop(send.send(Component::from_binary(&engine, &bytes))))
            .map_err(|error| format!("cannot be compiled: {error}"))?;
        let time = Duration::from_secs(limits.compile_seconds.into());
        let component = match receive.recv_timeout(time) {
            Ok(result) => result.map_err(|error| format!("cannot be compiled: {error:#}"))?,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                return Err(format!(
                    "was not compiled within {} s (limits.compile_seconds)",
                    limits.compile_seconds
                ));
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => return Err("the compiler gave up".to_owned()),
        };
        if let Some(cache) = &self.cache {
            let kept = component.serialize().map_err(|error| format!("{error:#}")).and_then(|compiled| {
                cache.put(file.digest, self.compatibility(), &compiled).map_err(|error| error.to_string())
            });
            if let Err(reason) = kept {
                tracing::warn!(plugin = file.name.as_str(), "the compiled plugin was not kept: {reason}");
            }
        }
        Ok(component)
    }
}

fn config(pooling: bool) -> Config {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .concurrency_support(false)
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_tail_call(false)
        .wasm_extended_const(false)
        .max_wasm_stack(STACK);
    if pooling {
        let mut pool = PoolingAllocationConfig::default();
        pool.total_component_instances(INSTANCES)
            .total_core_instances(INSTANCES * 4)
            .total_memories(INSTANCES)
            .total_tables(INSTANCES * 2)
            .max_core_instances_per_component(16)
            .max_memories_per_component(4)
            .max_tables_per_component(8)
            .max_component_instance_size(1 << 20)
            .max_core_instance_size(1 << 20)
            .table_elements(MAX_TABLE)
            .max_memory_size(MAX_MEMORY);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
    config
}
