//! What becomes of a prefix that starts here, as a statement of the function that every export calls.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::Literal;
use super::filter::{Joined, Statement};
use crate::engine::model::FilterCall;
use crate::types::{Community, Prefix, Priority};

/// What becomes of a prefix that starts here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Export {
    /// It goes to nobody.
    pub reject: bool,
    /// Communities that it gets.
    pub communities: Vec<Community>,
    /// Its priority.
    pub priority: Option<Priority>,
    /// The addresses of the peers that it may go to; unset means all.
    pub to: Option<BTreeSet<IpAddr>>,
}

impl Export {
    /// The statement for a prefix; none when it goes out as it is. It needs a parameter `peer_address`.
    pub fn statement(&self, prefix: &Prefix) -> Option<Literal> {
        if *self == Self::default() {
            return None;
        }
        let mut body = Vec::new();
        match &self.to {
            _ if self.reject => body.push(Statement::Reject.to_string()),
            Some(to) if to.is_empty() => body.push(Statement::Reject.to_string()),
            Some(to) => {
                let to: Vec<_> = to.iter().collect();
                body.push(format!(
                    "if (peer_address !~ [ {} ]) then {}",
                    Joined(&to, ", "),
                    Statement::Reject
                ));
            }
            None => {}
        }
        if !self.refuses_all() {
            let communities = self.communities.iter().map(|community| Statement::AddCommunity(*community));
            let statements = communities.chain(self.priority.map(Statement::SetPriority));
            body.extend(statements.map(|statement| statement.to_string()));
        }
        Some(Literal::composed(format!("if (net = {prefix}) then {{ {} }}", Joined(&body, " "))))
    }

    fn refuses_all(&self) -> bool {
        self.reject || self.to.as_ref().is_some_and(BTreeSet::is_empty)
    }

    /// The call of the function that holds these statements.
    pub fn call() -> FilterCall {
        let function = Some(Literal::composed("route_policies".to_owned()));
        FilterCall { function, takes_peer: true, ..FilterCall::default() }
    }
}
