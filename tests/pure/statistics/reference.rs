//! Against SciPy, on a hundred and more generated cases. What it answers stands in a file, beside
//! each question; UPDATE=1 asks it again, and what `tests/explore` draws it is asked in any case.

use std::io::Write;
use std::process::{Command, Stdio};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use serde_json::{Value, json};
use support::ROOT;
use support::cases::{drawn_from, explored};
use support::python::environment;
use tandem::statistics::{binomial, fisher, quantile, two_samples};

use super::SEED;

const VERSION: &str = "1.16.3";

/// What SciPy answers, one answer a question: as it stands in the file, or as it answers now.
fn answers(questions: &[Value]) -> Vec<Value> {
    if explored() {
        return answers_now(questions);
    }
    let file = format!("{ROOT}/tests/data/scipy-{VERSION}.txt");
    if std::env::var_os("UPDATE").is_some() {
        let pairs = questions.iter().zip(answers_now(questions));
        let lines: String = pairs.map(|(asked, said)| format!("{asked}\t{said}\n")).collect();
        std::fs::write(&file, lines).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap();
    assert_eq!(written.lines().count(), questions.len(), "UPDATE=1 asks SciPy");
    let pairs = written.lines().zip(questions).map(|(line, question)| {
        let (asked, said) = line.split_once('\t').unwrap();
        assert_eq!(asked, question.to_string(), "UPDATE=1 asks SciPy");
        serde_json::from_str(said).unwrap()
    });
    pairs.collect()
}

fn answers_now(questions: &[Value]) -> Vec<Value> {
    let python = environment("scipy", &[&format!("scipy=={VERSION}")]);
    let mut child = Command::new(python)
        .arg(format!("{ROOT}/tests/pure/statistics/reference.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines: String = questions.iter().map(|question| format!("{question}\n")).collect();
    let mut stdin = child.stdin.take().unwrap();
    let asked = std::thread::spawn(move || stdin.write_all(lines.as_bytes()).unwrap());
    let done = child.wait_with_output().unwrap();
    asked.join().unwrap();
    assert!(done.status.success());
    let said = String::from_utf8(done.stdout).unwrap();
    let answers: Vec<Value> =
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), questions.len());
    answers
}

fn near(ours: f64, theirs: f64) -> bool {
    (ours - theirs).abs() <= 1e-9 + 1e-8 * theirs.abs()
}

#[test]
fn the_statistics_agree_with_scipy() {
    let seed = drawn_from(SEED);
    let mut chance = ChaCha12Rng::seed_from_u64(seed);
    let levels = [0.5, 0.8, 0.9, 0.95, 0.99, 0.999];
    let (mut questions, mut ours): (Vec<Value>, Vec<Option<Vec<f64>>>) = Default::default();
    let mut ask = |question: Value, answer: Option<Vec<f64>>| {
        questions.push(question);
        ours.push(answer);
    };
    for case in 0..120_u64 {
        let level = levels[chance.random_range(0..levels.len())];
        let trials = chance.random_range(1..=[10_u64, 100, 1_000, 100_000][case as usize % 4]);
        let hits = match case % 5 {
            0 => 0,
            1 => trials,
            _ => chance.random_range(0..=trials),
        };
        let ends = binomial::proportion(hits, trials, level).unwrap();
        ask(json!(["proportion", hits, trials, level]), Some(vec![ends.low, ends.high]));
        let upper = binomial::upper(hits, trials, level).unwrap();
        ask(json!(["upper", hits, trials, level]), Some(vec![upper]));

        let (count, share) =
            (chance.random_range(1..=600_u64), [0.5, 0.95, 0.99][case as usize % 3]);
        let ranks = quantile::ranks(count, share, level);
        let ours = ranks.map(|ranks| vec![ranks.low as f64, ranks.high as f64]);
        ask(json!(["ranks", count, share, level]), ours);

        let of: [u64; 2] = [chance.random_range(1..=300), chance.random_range(1..=300)];
        let some = of.map(|of| chance.random_range(0..=of.min(20)));
        let p = two_samples::counts((some[0], of[0]), (some[1], of[1]));
        ask(json!(["fisher", some[0], of[0], some[1], of[1]]), Some(vec![p]));
        let p = fisher::more_often(some[0], of[0], some[1], of[1]);
        ask(json!(["more_often", some[0], of[0], some[1], of[1]]), Some(vec![p]));

        let sizes: [usize; 2] = [chance.random_range(1..=12), chance.random_range(1..=12)];
        let untied =
            sizes.map(|size| (0..size).map(|_| chance.random::<f64>()).collect::<Vec<_>>());
        let test = two_samples::compare(&untied[0], &untied[1], 0.95, seed).unwrap();
        ask(json!(["mann_whitney", untied[0], untied[1]]), Some(vec![test.p]));
        if case < 20 {
            let tied = [5, 6].map(|size| {
                (0..size).map(|_| f64::from(chance.random_range(0..4_u32))).collect::<Vec<_>>()
            });
            let test = two_samples::compare(&tied[0], &tied[1], 0.95, seed).unwrap();
            ask(json!(["permuted", tied[0], tied[1]]), Some(vec![test.p]));
            let p: [f64; 5] = chance.random();
            let mut question = vec![json!("holm")];
            question.extend(p.map(Value::from));
            ask(Value::from(question), Some(two_samples::holm(&p)));
        }
    }
    for ((question, ours), theirs) in questions.iter().zip(&ours).zip(answers(&questions)) {
        let theirs: Option<Vec<f64>> = serde_json::from_value(theirs).unwrap();
        let same = match (ours, &theirs) {
            (None, None) => true,
            (Some(ours), Some(theirs)) => {
                ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| near(*a, *b))
            }
            (Some(_), None) | (None, Some(_)) => false,
        };
        assert!(same, "seed {seed}, {question}: {ours:?}, and SciPy says {theirs:?}");
    }
    eprintln!("{} answers are SciPy's", questions.len());
}
