//! Intervals hold the truth as often as they say, and tests raise no more false alarms: simulated.

use rand::RngExt;
use tandem::statistics::{Ends, binomial, quantile, two_samples};

use super::{SEED, chance, error};

const SIMULATIONS: u32 = 4_000;

fn share(holds: impl FnMut(u32) -> bool) -> f64 {
    let held = (0..SIMULATIONS).map(holds).filter(|held| *held).count();
    held as f64 / f64::from(SIMULATIONS)
}

fn within(ends: Ends, truth: f64) -> bool {
    ends.low <= truth && truth <= ends.high
}

#[test]
fn the_interval_of_a_probability_holds_it() {
    let mut chance = chance();
    for (trials, truth) in [(8_u64, 0.1), (30, 0.01), (30, 0.5), (300, 0.003), (300, 0.2)] {
        for level in [0.8, 0.95] {
            let ends: Vec<_> = (0..=trials)
                .map(|hits| {
                    (
                        binomial::proportion(hits, trials, level),
                        binomial::upper(hits, trials, level),
                    )
                })
                .map(|(ends, upper)| (ends.unwrap(), upper.unwrap()))
                .collect();
            let mut hits = || (0..trials).filter(|_| chance.random::<f64>() < truth).count();
            let two = share(|_| within(ends[hits()].0, truth));
            let one = share(|_| ends[hits()].1 >= truth);
            let least = level - error(level, SIMULATIONS);
            let case = format!("seed {SEED}: {truth} in {trials} at {level}: {two} and {one}");
            assert!(two >= least && one >= least, "{case}");
            eprintln!("{case}");
        }
    }
}

#[test]
fn the_interval_of_a_quantile_contains_it_for_every_distribution() {
    let mut chance = chance();
    // A long tail, and one with jumps, as samples that were rounded have.
    let draws: [(&str, fn(f64) -> f64); 2] =
        [("long", |u| (1.0 - u).powf(-0.8)), ("jumps", |u| (u * 8.0).floor())];
    for (name, draw) in draws {
        for (of, count) in [(0.5, 10_u64), (0.5, 60), (0.95, 80), (0.95, 300), (0.99, 400)] {
            let ranks = quantile::ranks(count, of, 0.95).unwrap();
            let truth = draw(of - 1e-12);
            let held = share(|_| {
                let mut samples: Vec<f64> = (0..count).map(|_| draw(chance.random())).collect();
                samples.sort_by(f64::total_cmp);
                let at = |rank: u64| samples[usize::try_from(rank).unwrap() - 1];
                within(Ends { low: at(ranks.low), high: at(ranks.high) }, truth)
            });
            let case = format!("seed {SEED}: {name}, the {of} quantile of {count}: {held}");
            assert!(held >= 0.95 - error(0.95, SIMULATIONS), "{case}");
            eprintln!("{case}");
        }
    }
}

#[test]
fn sets_of_one_distribution_rarely_differ_and_the_shift_is_within_its_interval() {
    let mut chance = chance();
    for (a, b, tied) in [(8, 8, false), (12, 5, false), (10, 10, true)] {
        let mut held = 0_u32;
        let alarms = share(|_| {
            let mut draw = |size: usize, by: f64| -> Vec<f64> {
                let one = |u: f64| if tied { (u * 5.0).floor() } else { -(1.0 - u).ln() };
                (0..size).map(|_| one(chance.random()) + by).collect()
            };
            let (a, b) = (draw(a, 0.0), draw(b, 0.0));
            let test = two_samples::compare(&a, &b, 0.95, 1).unwrap();
            held += u32::from(test.interval.is_none_or(|ends| within(ends, 0.0)));
            test.p <= 0.05
        });
        let held = f64::from(held) / f64::from(SIMULATIONS);
        let case = format!("seed {SEED}: {a} and {b}, ties {tied}: {alarms} alarms, {held} held");
        assert!(alarms <= 0.05 + error(0.05, SIMULATIONS), "{case}");
        assert!(held >= 0.95 - error(0.95, SIMULATIONS), "{case}");
        eprintln!("{case}");
    }
}
