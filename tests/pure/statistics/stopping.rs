//! The rule that stops a run early: its looks, its error by computation and by simulation, and what
//! it costs to look as one should not.

use rand::RngExt;
use tandem::statistics::binomial::upper;
use tandem::statistics::sequential::{Decision, Rule, Series};

use super::{SEED, chance, error};

/// Limit, confidence, and how many trials there may be.
const DESIGNS: [(f64, f64, u64, u64); 6] = [
    (0.01, 0.95, 30, 300),
    (0.01, 0.95, 1, 1_000),
    (0.05, 0.9, 100, 200),
    (0.1, 0.95, 1, 300),
    (0.1, 0.95, 60, 60),
    (0.2, 0.99, 40, 150),
];

/// Plays trials until the rule says that it is over.
fn play(rule: &Rule, max: u64, mut hit: impl FnMut() -> bool) -> (Decision, Series) {
    let mut series = Series::default();
    for left in (0..max).rev() {
        let decision = rule.decide(&mut series, hit(), left);
        if decision != Decision::Open {
            return (decision, series);
        }
    }
    panic!("a rule that is still open at the last trial");
}

#[test]
fn the_looks_are_fixed_in_advance_and_spend_no_more_than_they_may() {
    for (limit, confidence, min, max) in DESIGNS {
        let rule = Rule::new(limit, confidence, min, max).unwrap();
        let (looks, error) = (rule.looks(), 1.0 - confidence);
        eprintln!("{limit} {confidence} {min}..{max}: {looks:?}, error {}", rule.claims(limit));
        assert!(looks.is_sorted() && looks[0] >= min && *looks.last().unwrap() <= max);
        assert!(rule.claims(limit) <= error, "{looks:?}");
        assert!(rule.claims(limit * 1.1) < rule.claims(limit), "{looks:?}");
        for look in 0..looks.len() {
            assert!(rule.upper(look) <= limit + 1e-12, "{look}: {}", rule.upper(look));
        }
    }
    // The first look of a short series is that of the fixed one, and the longer ones look later.
    assert_eq!(Rule::new(0.01, 0.95, 30, 300).unwrap().looks(), [299]);
    assert_eq!(Rule::new(0.01, 0.95, 30, 298), None);
    let long = Rule::new(0.01, 0.95, 1, 1_000).unwrap();
    assert_eq!(long.looks()[0], 368);
    assert!(long.looks().len() >= 3, "{:?}", long.looks());
    // One look of a fixed length allows what Clopper and Pearson allow.
    let one = Rule::new(0.1, 0.95, 60, 60).unwrap();
    let allowed = one.looks().len() - 1;
    assert!(upper(allowed as u64, 60, 0.95).unwrap() < 0.1);
    assert!(Rule::new(0.01, 0.95, 1, 100_000).unwrap().looks().len() == 10);
}

#[test]
fn a_claim_that_is_not_true_is_made_no_more_often_than_said() {
    let mut chance = chance();
    let simulations = 20_000;
    for (limit, confidence, min, max) in DESIGNS {
        let rule = Rule::new(limit, confidence, min, max).unwrap();
        let (mut claimed, mut covered) = (0_u32, 0_u32);
        for _ in 0..simulations {
            match play(&rule, max, || chance.random::<f64>() < limit).0 {
                Decision::Claimed { look } => {
                    claimed += 1;
                    covered += u32::from(rule.upper(look) >= limit);
                }
                Decision::Hopeless => covered += 1,
                Decision::Open => unreachable!("it was played to its end"),
            }
        }
        let share = |of: u32| f64::from(of) / f64::from(simulations);
        let (claimed, covered, most) = (share(claimed), share(covered), 1.0 - confidence);
        let case = format!("seed {SEED}: {limit} {confidence} {min}..{max}: {claimed} claimed");
        assert!(claimed <= most + error(most, simulations), "{case}");
        assert!((claimed - rule.claims(limit)).abs() <= error(claimed, simulations), "{case}");
        // The bound that is reported with a claim also holds as often as it states.
        assert!(covered >= confidence - error(confidence, simulations), "{case}, {covered}");
        eprintln!("{case}, of at most {most:.2}");
    }
}

#[test]
fn checking_after_every_trial_errs_more_often_than_stated() {
    // The test of the test: the naive rule.
    let mut chance = chance();
    let (limit, max, simulations) = (0.1, 300, 4_000);
    let most: Vec<Vec<f64>> = (0..=max)
        .map(|trials| (0..20).map(|hits| upper(hits, trials, 0.95).unwrap_or(1.0)).collect())
        .collect();
    let mut claimed = 0_u32;
    for _ in 0..simulations {
        let mut hits = 0;
        for of_this_many in &most[1..] {
            hits += usize::from(chance.random::<f64>() < limit);
            if of_this_many.get(hits).is_some_and(|upper| *upper < limit) {
                claimed += 1;
                break;
            }
        }
    }
    let claimed = f64::from(claimed) / f64::from(simulations);
    eprintln!("seed {SEED}: {claimed} claimed by the naive rule, of 0.05");
    assert!(claimed > 0.05 + error(0.05, simulations), "{claimed}");
}

#[test]
fn a_series_stops_when_it_may_and_when_it_need_not_go_on() {
    let rule = Rule::new(0.01, 0.95, 30, 300).unwrap();
    let (decision, series) = play(&rule, 300, || false);
    assert_eq!((decision, series.trials), (Decision::Claimed { look: 0 }, 299));
    let mut number = 0;
    let (decision, series) = play(&rule, 300, || {
        number += 1;
        number == 7
    });
    assert_eq!((decision, series.trials, series.hits), (Decision::Hopeless, 7, 1));
    // Two trials that do not count leave too few.
    let series = Series::default();
    assert_eq!(rule.prospect(&series, 299), Decision::Open);
    assert_eq!(rule.prospect(&series, 298), Decision::Hopeless);

    let long = Rule::new(0.01, 0.95, 1, 1_000).unwrap();
    let mut number = 0;
    let (decision, series) = play(&long, 1_000, || {
        number += 1;
        number == 7
    });
    assert_eq!((decision, series.trials), (Decision::Claimed { look: 1 }, long.looks()[1]));
}
