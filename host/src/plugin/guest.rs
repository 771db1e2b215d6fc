//! What a store holds: the guest's view of the cluster, its log, and what it has used.

use std::borrow::Cow;
use std::sync::Arc;

use wasmtime::{Result, bail, format_err};

use super::contract::{kv, log, types};
use super::limits::Limits;
use super::reads::ReadLog;
use crate::engine::View;
use crate::policy::Rights;
use crate::types::tame;

/// The work of a call of the host in fuel, without what it copies.
const HOST_CALL: u64 = 500;

/// The bytes that the host copies for a unit of fuel.
const BYTES_PER_FUEL: u64 = 4;

/// The longest key that there can be.
const MAX_KEY: usize = 1024;

/// A line that a guest logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// How much it matters.
    pub level: log::Level,
    /// The text, on one line, cut at the limit.
    pub text: String,
}

/// The data of a store.
pub(super) struct State {
    plugin: Arc<str>,
    rights: Rights,
    limits: Limits,
    view: View,
    revision: u64,
    /// What the host may still do for the guest in this call, in fuel.
    pub(super) budget: u64,
    pub(super) reads: ReadLog,
    pub(super) logs: Vec<LogLine>,
    /// Lines that may still be logged.
    pub(super) lines_left: u32,
    /// Lines that were dropped.
    pub(super) lines_dropped: u64,
    /// The last line of level error in this call: the panic hook's, after a panic.
    pub(super) last_error: Option<String>,
    /// The most memory that there was, in bytes.
    pub(super) memory: usize,
}

impl State {
    pub(super) fn new(
        plugin: Arc<str>,
        rights: Rights,
        limits: Limits,
        view: View,
        revision: u64,
        lines_left: u32,
    ) -> Self {
        Self {
            plugin,
            rights,
            limits,
            view,
            revision,
            budget: 0,
            reads: ReadLog::default(),
            logs: Vec::new(),
            lines_left,
            lines_dropped: 0,
            last_error: None,
            memory: 0,
        }
    }

    /// Pays for work of the host out of the guest's budget.
    fn pay(&mut self, bytes: usize) -> Result<()> {
        let cost = HOST_CALL + bytes as u64 / BYTES_PER_FUEL;
        match self.budget.checked_sub(cost) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => {
                self.budget = 0;
                bail!("asked the host for more than its fuel allows (limits.fuel_per_call)")
            }
        }
    }

    fn read(&mut self, key: &str) -> Result<Option<String>> {
        self.pay(key.len())?;
        if key.len() > MAX_KEY || !self.rights.allow(key) {
            return Ok(None);
        }
        self.reads.key(key);
        let value = self.view.get(key).map(Cow::into_owned);
        self.pay(value.as_ref().map_or(0, String::len))?;
        Ok(value)
    }
}

impl types::Host for State {}

impl kv::Host for State {
    fn revision(&mut self) -> Result<u64> {
        self.pay(0)?;
        self.reads.revision();
        Ok(self.revision)
    }

    fn get(&mut self, key: String) -> Result<Option<String>> {
        self.read(&key)
    }

    fn get_many(&mut self, keys: Vec<String>) -> Result<Vec<Option<String>>> {
        keys.iter().map(|key| self.read(key)).collect()
    }

    fn list(&mut self, prefix: String, after: Option<String>, limit: u32) -> Result<kv::Page> {
        self.pay(prefix.len())?;
        let mut page = kv::Page { rows: Vec::new(), more: false };
        let path = prefix.trim_end_matches('/');
        if path.len() > MAX_KEY || !self.rights.meet(path) {
            return Ok(page);
        }
        self.reads.path(path);
        let limit = limit.clamp(1, self.limits.list_page) as usize;
        let view = self.view.clone();
        let mut bytes = 0;
        for (key, value) in view.list_after(path, after.as_deref()) {
            // What is passed over costs too, or a listing of nothing could take for ever.
            self.pay(0)?;
            if !self.rights.allow(&key) {
                continue;
            }
            bytes += key.len() + value.len();
            if page.rows.len() == limit || (bytes > self.limits.host_call_bytes && !page.rows.is_empty()) {
                page.more = true;
                break;
            }
            self.pay(key.len() + value.len())?;
            page.rows.push(kv::Row { key: key.into_owned(), value: value.into_owned() });
        }
        Ok(page)
    }
}

impl log::Host for State {
    fn log(&mut self, level: log::Level, message: String) -> Result<()> {
        self.pay(message.len())?;
        if self.lines_left == 0 {
            self.lines_dropped += 1;
            if level != log::Level::Error {
                return Ok(());
            }
        }
        let text = tame(&message, self.limits.log_line);
        if level == log::Level::Error {
            self.last_error = Some(text.clone());
        }
        if self.lines_left == 0 {
            return Ok(());
        }
        self.lines_left -= 1;
        let plugin = &*self.plugin;
        match level {
            log::Level::Debug => tracing::debug!(target: "tailorbird::guest", plugin, "{text}"),
            log::Level::Info => tracing::info!(target: "tailorbird::guest", plugin, "{text}"),
            log::Level::Warn => tracing::warn!(target: "tailorbird::guest", plugin, "{text}"),
            log::Level::Error => tracing::error!(target: "tailorbird::guest", plugin, "{text}"),
        }
        self.logs.push(LogLine { level, text });
        Ok(())
    }
}

impl wasmtime::ResourceLimiter for State {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> Result<bool> {
        if desired > self.limits.memory {
            let limit = self.limits.memory;
            return Err(format_err!(
                "asked for {desired} bytes of memory and may have {limit} (limits.memory)"
            ));
        }
        self.memory = self.memory.max(desired);
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> Result<bool> {
        if desired > self.limits.table_elements {
            let limit = self.limits.table_elements;
            return Err(format_err!(
                "asked for a table of {desired} and may have {limit} (limits.table_elements)"
            ));
        }
        Ok(true)
    }

    fn memories(&self) -> usize {
        4
    }

    fn tables(&self) -> usize {
        8
    }

    fn instances(&self) -> usize {
        16
    }
}
