//! Well-known numbers, and edge cases.

use tandem::statistics::correlation::{HITS_MIN, Trial, interval, ratio};
use tandem::statistics::{binomial, quantile, two_samples};

#[test]
fn no_hit_in_so_many_trials_bounds_the_probability() {
    for (trials, most) in [(1, 0.95), (8, 0.312_344), (299, 0.009_969), (300, 0.009_936)] {
        let upper = binomial::upper(0, trials, 0.95).unwrap();
        assert!((upper - most).abs() < 1e-6, "{trials}: {upper}");
        assert!((upper - (1.0 - 0.05_f64.powf(1.0 / trials as f64))).abs() < 1e-12);
        // The rule of three is never below it.
        assert!(upper <= 3.0 / trials as f64);
    }
    assert_eq!(binomial::trials_needed(0.01, 0.95), Some(299));
    assert_eq!(binomial::trials_needed(0.01, 0.99), Some(459));
    assert_eq!(binomial::trials_needed(0.1, 0.95), Some(29));
    assert_eq!(binomial::trials_needed(0.0, 0.95), None);
    assert_eq!(binomial::upper(0, 0, 0.95), None);
    assert_eq!(binomial::proportion(0, 0, 0.95), None);
    let none = binomial::proportion(0, 10, 0.95).unwrap();
    let all = binomial::proportion(10, 10, 0.95).unwrap();
    assert_eq!((none.low, all.high), (0.0, 1.0));
    assert!((none.high - (1.0 - all.low)).abs() < 1e-12);
}

#[test]
fn too_few_samples_have_no_interval_and_it_is_known_how_many_it_takes() {
    for (share, needed) in [(0.5, 6), (0.95, 72), (0.99, 368)] {
        assert_eq!(quantile::samples_needed(share, 0.95), Some(needed));
        assert_eq!(quantile::ranks(needed - 1, share, 0.95), None, "{share}");
        assert!(quantile::ranks(needed, share, 0.95).is_some(), "{share}");
    }
    assert_eq!(quantile::ranks(0, 0.5, 0.95), None);
    let median = quantile::ranks(10, 0.5, 0.95).unwrap();
    assert_eq!((median.low, median.high), (2, 9));
}

#[test]
fn equal_samples_do_not_differ_and_apart_ones_do() {
    let a: Vec<f64> = (0..20).map(f64::from).collect();
    let later: Vec<f64> = a.iter().map(|it| it + 100.0).collect();
    let same = two_samples::compare(&a, &a, 0.95, 1).unwrap();
    assert_eq!((same.p, same.shift), (1.0, 0.0));
    let apart = two_samples::compare(&a, &later, 0.95, 1).unwrap();
    assert!(apart.p < 1e-9 && (apart.shift - 100.0).abs() < 1e-9, "{apart:?}");
    let ends = apart.interval.unwrap();
    assert!(ends.low < 100.0 && 100.0 < ends.high && ends.low > 90.0 && ends.high < 110.0);
    assert_eq!(two_samples::compare(&a, &[], 0.95, 1), None);
    assert_eq!(two_samples::compare(&[1.0], &[2.0], 0.95, 1).unwrap().interval, None);
    assert!((two_samples::least_p(1, 1) - 1.0).abs() < 1e-9);
    assert!((two_samples::least_p(4, 4) - 2.0 / 70.0).abs() < 1e-9);
    // Large sets are shuffled, and a seed shuffles alike.
    let many: Vec<f64> = (0..900).map(f64::from).collect();
    let shifted: Vec<f64> = many.iter().map(|it| it + 20.0).collect();
    let once = two_samples::compare(&many, &shifted, 0.95, 7).unwrap();
    assert_eq!(Some(once), two_samples::compare(&many, &shifted, 0.95, 7));
    assert!((0.05..0.2).contains(&once.p), "{once:?}");
}

#[test]
fn groups_that_fail_apart_have_a_ratio_of_one() {
    let trial = |joint, groups: [f64; 2]| Trial { whole: 100.0, joint, groups: groups.into() };
    let apart = [trial(1.0, [10.0, 10.0])];
    assert!((ratio(apart.iter()).unwrap() - 1.0).abs() < 1e-12);
    let together = [trial(10.0, [10.0, 10.0])];
    assert!((ratio(together.iter()).unwrap() - 10.0).abs() < 1e-12);
    assert_eq!(ratio([trial(0.0, [10.0, 0.0])].iter()), None);
    assert_eq!(ratio([].iter()), None);
    let few: Vec<_> = (1..HITS_MIN).map(|_| trial(10.0, [10.0, 10.0])).collect();
    assert_eq!(interval(&few, 0.95, 1), None);
    let enough: Vec<_> = (0..3 * HITS_MIN)
        .map(|it| match it % 3 {
            0 => trial(0.0, [10.0, 0.0]),
            1 => trial(5.0, [5.0, 20.0]),
            _ => trial(10.0, [10.0, 12.0]),
        })
        .collect();
    let (ends, middle) = (interval(&enough, 0.95, 1).unwrap(), ratio(enough.iter()).unwrap());
    assert!(ends.low < middle && middle < ends.high, "{ends:?} {middle}");
    assert_eq!(Some(ends), interval(&enough, 0.95, 1));
}
