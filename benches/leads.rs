//! What it costs to ask whether a member leads a role: beside a load of an atomic and a read of the
//! clock, in one run.
//!
//! `cargo bench --bench leads` prints the table; nothing is asserted of time.

#![allow(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "a measurement may fail loudly"
)]

use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use support::broker_process::BrokerProcess;
use tandem::ids::{PartitionId, RoleIndex};
use tandem::time::Mono;
use tandem_member::Member;

const WIDTH: NonZeroU32 = NonZeroU32::MIN.saturating_add(63);
const ROLES: u32 = 100_000;
const CALLS: u32 = 1_000_000;
/// How often each is measured, in turn, so that what else the machine does hits all.
const ROUNDS: usize = 21;

/// Nanoseconds a call.
fn timed<T>(calls: u32, mut call: impl FnMut(u32) -> T) -> f64 {
    let began = Mono::now();
    for number in 0..calls {
        black_box(call(number));
    }
    Mono::now().since(began).as_nanos() as f64 / f64::from(calls)
}

fn main() {
    // A run of all targets as tests only sees that it works.
    let measures = std::env::args().any(|argument| argument == "--bench");
    let (rounds, calls) = if measures { (ROUNDS, CALLS) } else { (1, 1_000) };
    let broker = BrokerProcess::start();
    let builder = Member::builder(&broker.address, "many").create_ledger(WIDTH);
    let member = builder.join().unwrap();
    let all = || (0..WIDTH.get()).all(|k| member.leads(PartitionId(k)));
    while !all() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let end = AtomicU64::new(Mono::now().0);
    let mut rows: [(&str, Vec<f64>); 5] = [
        ("an atomic load", Vec::new()),
        ("a read of the clock", Vec::new()),
        ("leads, one role", Vec::new()),
        ("leads, 100,000 roles", Vec::new()),
        ("claim, 100,000 roles", Vec::new()),
    ];
    for _ in 0..rounds {
        let numbers = [
            timed(calls, |_| end.load(Ordering::SeqCst)),
            timed(calls, |_| Mono::now()),
            timed(calls, |_| member.leads(RoleIndex(0))),
            timed(calls, |call| member.leads(RoleIndex(call % ROLES))),
            timed(calls, |call| member.claim(RoleIndex(call % ROLES))),
        ];
        for ((_, row), number) in rows.iter_mut().zip(numbers) {
            row.push(number);
        }
    }
    println!("{rounds} rounds of {calls} calls, ns a call: median (least to most)");
    for (what, row) in &mut rows {
        row.sort_by(f64::total_cmp);
        let (median, least, most) = (row[row.len() / 2], row[0], row[row.len() - 1]);
        println!("{what:<22} {median:>7.1} ({least:.1} to {most:.1})");
    }
    member.leave();
}
