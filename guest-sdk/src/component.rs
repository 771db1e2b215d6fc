//! From the bindings' traits to those of the library. Public for [`crate::export!`] alone.

use std::any::Any;
use std::cell::OnceCell;
use std::marker::PhantomData;
use std::rc::Rc;

use crate::bindings::filter::exports::tailorbird::policy::filter as filter_wire;
use crate::bindings::functions::exports::tailorbird::policy::functions as functions_wire;
use crate::bindings::lifecycle::exports::tailorbird::policy::lifecycle as lifecycle_wire;
use crate::bindings::peers::exports::tailorbird::policy::peers as peers_wire;
use crate::filter::{DecisionPacker, RulePacker};
use crate::kv::HostKv;
use crate::text::count;
use crate::{Direction, Filter, Function, Functions, Peering, Peers, Policy, Request, Route, Value};

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: crate::allocator::Allocator = crate::allocator::Allocator::new();

/// A policy as a component.
#[derive(Debug)]
pub struct Component<P>(PhantomData<P>);

/// One policy lives in a component; it cannot be a generic static.
struct Slot(OnceCell<Rc<dyn Any>>);

thread_local! {
    static POLICY: Slot = const { Slot(OnceCell::new()) };
    static FUNCTIONS: Slot = const { Slot(OnceCell::new()) };
}

impl Slot {
    fn get<T: 'static>(&self) -> Option<Rc<T>> {
        self.0.get().and_then(|own| Rc::clone(own).downcast().ok())
    }
}

fn policy<P: Policy>() -> Result<Rc<P>, String> {
    POLICY.with(Slot::get).ok_or_else(|| "called before `configure`".into())
}

fn functions<P: Functions>() -> Rc<Vec<Function<P>>> {
    FUNCTIONS.with(|slot| {
        let _ = slot.0.get_or_init(|| Rc::new(P::functions()));
        slot.get().unwrap_or_default()
    })
}

impl<P: Policy> lifecycle_wire::Guest for Component<P> {
    fn configure(settings: String) -> Result<(), String> {
        // Without a hook, nobody would see what a panic says.
        #[cfg(target_arch = "wasm32")]
        std::panic::set_hook(Box::new(|panic| crate::log::error(&panic.to_string())));
        let policy: Rc<P> = Rc::new(crate::policy::configure(&settings)?);
        POLICY.with(|slot| slot.0.set(policy)).map_err(|_| "configured twice".into())
    }
}

impl<P: Peers> peers_wire::Guest for Component<P> {
    fn select(request: peers_wire::Request) -> Result<peers_wire::Answer, String> {
        policy::<P>()?
            .select(&Request::new(&request), &HostKv::default())
            .map(|selection| selection.into_wire())
    }
}

impl<P: Filter> filter_wire::Guest for Component<P> {
    fn advertise(request: filter_wire::AdvertiseRequest) -> Result<filter_wire::AdvertiseAnswer, String> {
        let policy = policy::<P>()?;
        let kv = HostKv::default();
        let mut packer = DecisionPacker::default();
        for row in 0..request.routes.lengths.len() {
            packer.add(&policy.advertise(&Route::new(&request.text, &request.routes, row), &kv)?);
        }
        Ok(packer.finish())
    }

    fn rules(request: filter_wire::RulesRequest) -> Result<filter_wire::RulesAnswer, String> {
        let policy = policy::<P>()?;
        let kv = HostKv::default();
        let mut packer = RulePacker::default();
        let filter_wire::RulesRequest { text, sessions, names } = &request;
        for row in 0..sessions.names.len() {
            let peering = Peering { text, names, columns: sessions, row };
            for direction in [Direction::Import, Direction::Export] {
                packer.add(count(row), direction, policy.rules(&peering, direction, &kv)?);
            }
        }
        Ok(packer.finish())
    }
}

impl<P: Functions> functions_wire::Guest for Component<P> {
    fn functions() -> Vec<functions_wire::Function> {
        let describe = |function: &Function<P>| functions_wire::Function {
            name: function.name.into(),
            parameters: function
                .parameters
                .iter()
                .map(|parameter| functions_wire::Parameter {
                    name: parameter.name.into(),
                    kind: parameter.kind,
                    optional: parameter.optional,
                })
                .collect(),
            help: function.help.into(),
        };
        functions::<P>().iter().map(describe).collect()
    }

    fn call(function: u32, arguments: Vec<functions_wire::Value>) -> Result<functions_wire::Value, String> {
        let functions = functions::<P>();
        let function = functions.get(function as usize).ok_or("there is no such function")?;
        let arguments = arguments.into_iter().map(Value::from_wire).collect();
        function.call(&*policy::<P>()?, &HostKv::default(), arguments).map(Value::into_wire)
    }
}

/// Exports a policy as a plugin, with one or more of [`Peers`], [`Filter`] and [`Functions`]:
/// `export!(MyPolicy: Peers, Filter);`, once in a crate whose `crate-type` has `cdylib`.
#[macro_export]
macro_rules! export {
    ($policy:ident: $($interface:ident),+ $(,)?) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            type Component = $crate::component::Component<$policy>;
            $crate::bindings::lifecycle::export_lifecycle!(Component with_types_in $crate::bindings::lifecycle);
            $($crate::__export_interface!($interface Component);)+
        };
        // What has no exports here is checked all the same.
        #[cfg(not(target_arch = "wasm32"))]
        const _: () = {
            const fn check<P: $($crate::$interface +)+>() {}
            check::<$policy>();
        };
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __export_interface {
    (Peers $component:ident) => {
        $crate::bindings::peers::export_peers!($component with_types_in $crate::bindings::peers);
    };
    (Filter $component:ident) => {
        $crate::bindings::filter::export_filter!($component with_types_in $crate::bindings::filter);
    };
    (Functions $component:ident) => {
        $crate::bindings::functions::export_functions!($component with_types_in $crate::bindings::functions);
    };
}
