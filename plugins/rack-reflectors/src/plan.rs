use tailorbird_guest::Family;

use crate::hash;
use crate::settings::Settings;
use crate::topology::Topology;

/// Who peers with whom over one family. It is the same on every node, so that both ends of a peering agree.
pub(crate) struct Plan<'t, 'a> {
    topology: &'t Topology<'a>,
    /// The number of reflectors of other groups that a node peers with.
    others: usize,
    /// Places of members.
    reflectors: Vec<usize>,
    /// By place of the member.
    reflects: Vec<bool>,
}

/// What rendezvous hashing compares: a score, and for equal scores the place.
type Rank = (u64, usize);

impl<'t, 'a> Plan<'t, 'a> {
    pub(crate) fn new(topology: &'t Topology<'a>, family: Family, settings: &Settings) -> Self {
        let reflectors = match topology.chosen {
            true => chosen(topology, family),
            false => elected(topology, family, settings.reflectors_per_group.into()),
        };
        let mut reflects = vec![false; topology.members.len()];
        for place in &reflectors {
            reflects[*place] = true;
        }
        Self { topology, others: settings.others.into(), reflectors, reflects }
    }

    /// Whether there is a reflector at all.
    pub(crate) fn has_reflectors(&self) -> bool {
        !self.reflectors.is_empty()
    }

    /// Whether a member is a reflector.
    pub(crate) fn reflects(&self, member: usize) -> bool {
        self.reflects[member]
    }

    /// A group whose nodes would peer with nobody, if there is one.
    pub(crate) fn unreached(&self, family: Family) -> Option<&'a str> {
        if self.others > 0 {
            return None;
        }
        let mut served = vec![false; self.topology.groups.len()];
        for place in &self.reflectors {
            served[self.topology.members[*place].group] = true;
        }
        let alone =
            self.topology.members.iter().find(|member| member.has(family) && !served[member.group])?;
        Some(self.topology.groups[alone.group])
    }

    /// Whether a member is to peer with each of the members, by place; with itself it is not.
    pub(crate) fn peers_of(&self, member: usize) -> Vec<bool> {
        let mut peers = match self.reflects[member] {
            true => {
                let wants = |other| self.reflects[other] || self.is_served(other, member);
                (0..self.topology.members.len()).map(wants).collect()
            }
            false => self.serving(member),
        };
        peers[member] = false;
        peers
    }

    /// The reflectors of a node that is none.
    fn serving(&self, node: usize) -> Vec<bool> {
        let group = self.topology.members[node].group;
        let mut serving = vec![false; self.topology.members.len()];
        let mut best = Best::new(self.others);
        for place in self.reflectors.iter().copied() {
            if self.topology.members[place].group == group {
                serving[place] = true;
            } else {
                best.offer(self.rank(node, place));
            }
        }
        for (_, place) in best.ranks {
            serving[place] = true;
        }
        serving
    }

    /// Whether a reflector is one of those of a node that is none. The search for better ones ends as soon as there are
    /// enough: on average after few steps, however many reflectors there are.
    fn is_served(&self, node: usize, reflector: usize) -> bool {
        let members = &self.topology.members;
        let group = members[node].group;
        if members[reflector].group == group {
            return true;
        }
        let own = self.rank(node, reflector);
        let better = self
            .reflectors
            .iter()
            .filter(|place| members[**place].group != group && self.rank(node, **place) > own)
            .take(self.others);
        better.count() < self.others
    }

    fn rank(&self, node: usize, reflector: usize) -> Rank {
        let members = &self.topology.members;
        (hash::score(members[node].hash, members[reflector].hash), reflector)
    }
}

/// The reflectors that the operator chose.
fn chosen(topology: &Topology<'_>, family: Family) -> Vec<usize> {
    let members = topology.members.iter().enumerate();
    members.filter(|(_, member)| member.chosen && member.has(family)).map(|(place, _)| place).collect()
}

/// The same number of reflectors in each group.
fn elected(topology: &Topology<'_>, family: Family, per_group: usize) -> Vec<usize> {
    let mut best: Vec<Best> = topology.groups.iter().map(|_| Best::new(per_group)).collect();
    for (place, member) in topology.members.iter().enumerate().filter(|(_, member)| member.has(family)) {
        best[member.group].offer((member.hash, place));
    }
    let mut elected: Vec<usize> =
        best.into_iter().flat_map(|best| best.ranks).map(|(_, place)| place).collect();
    elected.sort_unstable();
    elected
}

/// The highest ranks of all that were offered, the highest first.
struct Best {
    ranks: Vec<Rank>,
    most: usize,
}

impl Best {
    fn new(most: usize) -> Self {
        Self { ranks: Vec::with_capacity(most), most }
    }

    fn offer(&mut self, rank: Rank) {
        let place = self.ranks.iter().position(|own| rank > *own).unwrap_or(self.ranks.len());
        if place < self.most {
            self.ranks.truncate(self.most - 1);
            self.ranks.insert(place, rank);
        }
    }
}
