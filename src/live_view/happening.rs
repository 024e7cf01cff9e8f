//! The events that facts make.

use super::Happening;
use super::table::ms;
use crate::ids::Life;
use crate::live::{Live, STALL_LEAST};
use crate::observation::{Fact, MemberEvent, RunEvent, What};

impl Happening {
    /// The event of a fact that is already folded, if it makes one.
    #[must_use]
    pub fn of(live: &Live, fact: &Fact) -> Option<Self> {
        let Some(life) = &fact.life else { return of_run(&fact.what) };
        let life = life.clone();
        if let What::Member(MemberEvent::Unconnected { why }) = &fact.what {
            return Some(Self::Unconnected { life, why: why.clone() });
        }
        if let What::Member(MemberEvent::Refused { why }) = &fact.what {
            return Some(Self::Refused { life, why: why.clone() });
        }
        if fact.what == What::Member(MemberEvent::Connected) {
            return Some(Self::Connected { life });
        }
        of_life(live, life, &fact.what)
    }
}

fn of_run(what: &What) -> Option<Happening> {
    if let What::Run(RunEvent::ClusterStarted { cluster, address, pid }) = what {
        let (cluster, address, pid) = (cluster.clone(), address.clone(), *pid);
        return Some(Happening::ClusterStarted { cluster, address, pid });
    }
    if let What::Run(RunEvent::ClusterDied { cluster }) = what {
        return Some(Happening::ClusterDied { cluster: cluster.clone() });
    }
    if let What::Run(RunEvent::Stall { from, until, .. }) = what {
        let length = until.since(*from);
        return (length >= STALL_LEAST).then(|| Happening::Stalled { ms: ms(length) });
    }
    if let What::Run(RunEvent::BrokerLost { cluster, broker }) = what {
        let (cluster, broker) = (cluster.clone(), broker.clone());
        return Some(Happening::BrokerLost { cluster, broker });
    }
    let What::Run(RunEvent::BrokerBack { cluster, broker }) = what else { return None };
    Some(Happening::BrokerBack { cluster: cluster.clone(), broker: broker.clone() })
}

fn of_life(live: &Live, life: Life, what: &What) -> Option<Happening> {
    let member = live.member(&life.member)?;
    // Only the latest life makes events.
    if member.incarnation != life.incarnation {
        return None;
    }
    if let What::Run(RunEvent::Started { pid, .. }) = *what {
        return Some(Happening::Started { life, pid });
    }
    if let What::Run(RunEvent::Died { signal, status }) = *what {
        return Some(match member.left {
            true => Happening::Left { life },
            false => Happening::Died { life, signal, status },
        });
    }
    if let What::Member(MemberEvent::Leaving) = what {
        return Some(Happening::Leaving { life });
    }
    if let What::Run(RunEvent::Stopped) = what {
        return Some(Happening::Stopped { life });
    }
    if let What::Member(MemberEvent::Claimed { partition, stands_in_for: Some(of), .. }) = what {
        return Some(Happening::StandsIn { life, partition: *partition, of: of.clone() });
    }
    (*what == What::Run(RunEvent::Continued)).then_some(Happening::Continued { life })
}
