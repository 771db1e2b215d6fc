use std::fmt;

use crate::Kv;
use crate::functions::{FromValue, IntoAnswer, ParameterKind, Value};

type Call<P> = Box<dyn Fn(&P, &dyn Kv, &[&str], Vec<Value>) -> Result<Value, String>>;

/// A function of a policy.
pub struct Function<P> {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) parameters: Vec<Parameter>,
    names: Vec<&'static str>,
    call: Call<P>,
}

pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) kind: ParameterKind,
    pub(crate) optional: bool,
}

impl<P> Function<P> {
    /// A function that is called `name` (lower case letters, digits and `_`, from a letter) in templates, with a line of
    /// help and the names of its parameters.
    pub fn new<M, F, const N: usize>(
        name: &'static str,
        help: &'static str,
        parameters: [&'static str; N],
        function: F,
    ) -> Self
    where
        F: Callable<P, M, N> + 'static,
    {
        let facts = parameters.iter().zip(F::PARAMETERS);
        Self {
            name,
            help,
            parameters: facts
                .map(|(name, (kind, optional))| Parameter { name, kind: *kind, optional: *optional })
                .collect(),
            names: parameters.to_vec(),
            call: Box::new(move |policy, kv, names, arguments| function.call(policy, kv, names, arguments)),
        }
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The line of help.
    pub fn help(&self) -> &'static str {
        self.help
    }

    /// Calls it.
    ///
    /// # Errors
    /// The function's own text, or what is wrong with an argument.
    pub fn call(&self, policy: &P, kv: &dyn Kv, arguments: Vec<Value>) -> Result<Value, String> {
        if arguments.len() > self.names.len() {
            return Err(format!("{} arguments where there are {}", arguments.len(), self.names.len()));
        }
        (self.call)(policy, kv, &self.names, arguments)
    }
}

impl<P> fmt::Debug for Function<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function").field("name", &self.name).field("parameters", &self.names).finish()
    }
}

/// What can be a function of the policy `P`: a method with `N` parameters, or one that has `kv: &dyn Kv` before them.
/// `M` tells the forms apart.
pub trait Callable<P, M, const N: usize> {
    /// The kind of each parameter, and whether it may be left out.
    const PARAMETERS: &'static [(ParameterKind, bool)];

    /// Calls it, with the names of its parameters for messages.
    ///
    /// # Errors
    /// The function's own text, or what is wrong with an argument.
    fn call(&self, policy: &P, kv: &dyn Kv, names: &[&str], arguments: Vec<Value>) -> Result<Value, String>;
}

/// Marks methods that read the cluster.
#[derive(Debug)]
pub struct WithKv;

fn argument<T: FromValue>(
    arguments: &mut impl Iterator<Item = Value>,
    names: &mut impl Iterator<Item = impl fmt::Display>,
) -> Result<T, String> {
    let value = arguments.next().unwrap_or(Value::None);
    let name = names.next();
    T::from_value(value).map_err(|error| match name {
        Some(name) => format!("{name}: {error}"),
        None => error,
    })
}

macro_rules! callables {
    ($($n:literal: $($type:ident)*;)*) => {$(
        #[allow(unused_mut, unused_variables)]
        impl<P, R, F, $($type),*> Callable<P, ($($type,)*), $n> for F
        where
            F: Fn(&P, $($type),*) -> R,
            R: IntoAnswer,
            $($type: FromValue,)*
        {
            const PARAMETERS: &'static [(ParameterKind, bool)] = &[$(($type::KIND, $type::OPTIONAL)),*];

            fn call(&self, policy: &P, _: &dyn Kv, names: &[&str], arguments: Vec<Value>) -> Result<Value, String> {
                let mut arguments = arguments.into_iter();
                let mut names = names.iter();
                self(policy, $(argument::<$type>(&mut arguments, &mut names)?),*).into_answer()
            }
        }

        #[allow(unused_mut, unused_variables)]
        impl<P, R, F, $($type),*> Callable<P, (WithKv, $($type,)*), $n> for F
        where
            F: Fn(&P, &dyn Kv, $($type),*) -> R,
            R: IntoAnswer,
            $($type: FromValue,)*
        {
            const PARAMETERS: &'static [(ParameterKind, bool)] = &[$(($type::KIND, $type::OPTIONAL)),*];

            fn call(&self, policy: &P, kv: &dyn Kv, names: &[&str], arguments: Vec<Value>) -> Result<Value, String> {
                let mut arguments = arguments.into_iter();
                let mut names = names.iter();
                self(policy, kv, $(argument::<$type>(&mut arguments, &mut names)?),*).into_answer()
            }
        }
    )*};
}

callables! {
    0: ;
    1: A;
    2: A B;
    3: A B C;
    4: A B C D;
    5: A B C D E;
    6: A B C D E G;
}
