# make setup   finds or brings what the tests and the demo need: BIRD 1.x, and a compiler for plugins
#              (rustup target add wasm32-unknown-unknown, or as root Debian's rustc-web cargo-web rust-web-src lld-19)
# make plugins builds the plugins of plugins/ into target/plugins
# make demo    renders the example clusters for one node each, has BIRD check them, shows what plugins change, and runs the daemon
# make test    everything that must hold before a change goes in
# make test-full the same, and every conformance case by way of a real API server and of etcd (KUBEBUILDER_ASSETS), some minutes longer
# make bench   measures, prints the table and writes docs/performance.md: about 7 minutes on two cores, without the build
# make bench-quick the same with two sizes and few samples, less than 2 minutes; it writes target/performance.md

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.PHONY: setup plugins demo test test-full bench bench-quick bench-all

NODE ?= worker-1
TARGET := $(or $(CARGO_TARGET_DIR),target)
with_bird = bird=$$(scripts/setup.sh); eval "$$bird"

setup:
	@scripts/setup.sh

# The plugins, built by this command, where examples/plugins looks for them.
build_plugins = mkdir -p target/plugins; for folder in plugins/*/; do \
	$(1) plugin build "$$folder" --out "target/plugins/$$(basename "$$folder").wasm"; done

plugins:
	@cargo build --locked --package tailorbird
	$(call build_plugins,$(TARGET)/debug/tailorbird)

demo:
	@$(with_bird)
	cargo build --release --locked --package tailorbird
	tailorbird() { printf '\n$$ tailorbird %s\n' "$$*"; $(TARGET)/release/tailorbird "$$@"; }
	rm -rf demo
	tailorbird render --objects examples/cluster --node $(NODE) --out demo
	printf '\n$$ head -n 30 demo/bird.cfg\n'
	head -n 30 demo/bird.cfg
	tailorbird get /calico/v1/ipam/v6 --objects examples/cluster --node $(NODE)
	tailorbird diff --objects examples/cluster --node $(NODE) --out demo
	echo "(no difference)"
	echo; echo "# The default set of plugins: a node that is cordoned, without them and with them."
	$(call build_plugins,$(TARGET)/release/tailorbird)
	plugins=(--objects examples/plugins/objects --node e1-2)
	mkdir demo/plugins
	tailorbird render "$${plugins[@]}" --out demo/plugins/without
	tailorbird diff "$${plugins[@]}" --out demo/plugins/without --config examples/plugins/tailorbird.toml \
	  >demo/plugins/difference || test $$? = 1
	head -n 60 demo/plugins/difference
	echo "… (all of it is in demo/plugins/difference)"
	tailorbird templates export demo/plugins/templates
	cp -r examples/plugins/confdir/. demo/plugins/templates
	tailorbird render "$${plugins[@]}" --out demo/plugins/with --config examples/plugins/tailorbird.toml \
	  --confdir demo/plugins/templates
	printf '\n$$ head -n 8 demo/plugins/with/probes.yaml\n'
	head -n 8 demo/plugins/with/probes.yaml
	echo; echo "# The daemon, with BIRD in a network of its own."
	scripts/demo-daemon.sh $(TARGET)/release/tailorbird $(NODE)

test:
	@$(with_bird)
	set -x
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
	cargo test --workspace --locked

test-full: export TAILORBIRD_ALL_CASES = 1
test-full: test

# The default plugins are measured too, so they are built first; with the release profile, for the benches have the same.
measure = cargo build --release --locked --package tailorbird; $(call build_plugins,$(TARGET)/release/tailorbird); \
	cargo bench --locked --package tailorbird-bench --bench suite; \
	cargo run --profile bench --locked --package tailorbird-bench --bin bench-page -- --page $(1)

bench:
	@$(with_bird)
	$(call measure,docs/performance.md)

bench-quick: export TAILORBIRD_BENCH_QUICK = 1
bench-quick:
	@$(with_bird)
	mkdir -p target
	$(call measure,target/performance.md)

# Everything, also what the daemon needs from an event to its files and what each default plugin adds.
bench-all: bench
	@$(with_bird)
	cargo bench --locked --package tailorbird-bench --bench daemon --bench plugins
