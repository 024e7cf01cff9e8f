//! The fast mode as a program meets it: a member of the library that its program pulses, and one
//! that shares its group with a contender of another language. That two never lead, and how soon a
//! claim ends, is measured in `tests/measured/broker/fast.rs`.

use support::fast_group::{leads, ledger, member, take_turns};
use support::foreign::eventually;
use tandem::ids::PartitionId;
use tandem_member::Pulse;

#[test]
fn a_program_that_stops_its_pulse_loses_its_claim_and_leads_again_when_it_is_well() {
    let broker = ledger();
    let (member, led) = member("jobs-1.1", &broker, Pulse::Program);
    let leads_now = || member.leads(PartitionId(0));
    let well = || {
        member.pulse();
        leads_now().then_some(())
    };
    eventually("the first claim", well);
    eventually("the fence", || (!leads_now()).then_some(()));
    eventually("the end of the claim", || (!leads(&led)).then_some(()));
    eventually("the next claim", well);
    member.leave();
}

/// Once under a name to which the contender hands over, and once under one that takes away.
#[test]
fn a_contender_of_another_language_and_a_member_take_turns() {
    for led in take_turns(2) {
        assert!(!led.lock().unwrap().is_empty(), "each of them led");
    }
}
