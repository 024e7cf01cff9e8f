//! The fast mode as a program meets it: how soon a claim ends when its program stops its pulse, and
//! that a member and a contender of another language never lead at once, by their own accounts.

use std::time::Duration;

use support::fast_group::{FENCE, leads, ledger, member, take_turns};
use support::foreign::{Broker, eventually};
use support::measured::turn;
use support::quiet::undisturbed;
use support::stalls::Watch;
use tandem::ids::PartitionId;
use tandem::time::Mono;
use tandem_member::Pulse;

const ROUNDS: usize = 4;

/// What a member did whose program was well for two terms of the fence, and then stopped its pulse.
#[derive(Debug)]
struct Pulsed {
    /// Until the program was well no more. One, if the fence ended none of them meanwhile.
    claims: usize,
    /// From the last pulse to the end of the claim.
    took: Duration,
    /// For so long the host kept the member from running, at a time and all in all.
    stalled: [Duration; 2],
}

fn pulsed(broker: &Broker, name: &str) -> Pulsed {
    let watch = Watch::begin();
    // A beacon that waits there is heard late, and the fence ends late.
    watch.add(broker.pid());
    let (member, led) = member(name, broker, Pulse::Program);
    let leads_now = || member.leads(PartitionId(0));
    let well = || {
        member.pulse();
        leads_now().then_some(())
    };
    eventually("the first claim", well);
    let first = Mono::now();
    let mut last = first;
    while last < first + 2 * FENCE {
        last = Mono::now();
        member.pulse();
        std::thread::sleep(Duration::from_millis(50));
    }
    let claims = led.lock().unwrap().len();
    eventually("the fence", || (!leads_now()).then_some(()));
    eventually("the end of the claim", || (!leads(&led)).then_some(()));
    let fenced = led.lock().unwrap().last().unwrap().1.unwrap();
    let now = Mono::now();
    let stalled = [watch.longest(first, now), watch.total(first, now)];
    eventually("the next claim", well);
    member.leave();
    Pulsed { claims, took: fenced.since(last), stalled }
}

#[test]
fn a_program_that_stops_its_pulse_loses_its_claim_and_leads_again_when_it_is_well() {
    let _turn = turn();
    let broker = ledger();
    let play = || pulsed(&broker, "jobs-1.1");
    // A host that keeps it from its pulses and beacons for long ends the claim itself.
    let is_disturbed = |of: &Pulsed| of.stalled[0] > FENCE / 4;
    let Some(of) = undisturbed(play, is_disturbed, |of| format!("{of:?}")) else { return };
    assert_eq!(of.claims, 1, "well for two terms of the fence, it leads on: {of:?}");
    // The last pulse lets one more beacon go, up to 100 ms after it.
    let least = FENCE.saturating_sub(of.stalled[1]);
    let most = FENCE + Duration::from_millis(200) + of.stalled[1];
    assert!((least..=most).contains(&of.took), "{of:?}");
}

/// Each is killed, or leaves, while it leads.
#[test]
fn a_contender_of_another_language_and_a_member_never_lead_at_once() {
    let _turn = turn();
    let all = take_turns(ROUNDS);
    let mut claims: Vec<(Mono, Mono)> = Vec::new();
    for led in &all {
        let led = led.lock().unwrap();
        assert!(!led.is_empty(), "each of them led: {all:?}");
        claims.extend(led.iter().map(|(from, until)| (*from, until.expect("all have ended"))));
    }
    claims.sort_unstable();
    for pair in claims.windows(2) {
        assert!(pair[0].1 <= pair[1].0, "two lead at once: {pair:?} of {claims:?}");
    }
}
