//! The shared live fold: what listeners get, and what happens when the inbox is full.

use std::sync::{Arc, mpsc};

use support::facts::plan;
use tandem::fold::{Fold, Heard, WAITING_MAX};
use tandem::ids::TrialNumber;
use tandem::live::Live;
use tandem::observation::{Fact, Outcome, RunEvent, What};
use tandem::time::Mono;

fn fact(seq: u64, what: What) -> Arc<Fact> {
    Arc::new(Fact { t: Mono(seq), seq, life: None, what })
}

#[test]
fn listeners_get_each_fact_once_the_count_of_missed_facts_and_nothing_after_the_end() {
    let fold = Fold::new(Live::new(&plan(1, &[("p1", 1, 1)])));
    let (tell, got) = mpsc::channel();
    fold.listen(Box::new(move |_, heard| match heard {
        Heard::Fact(fact) => tell.send(fact.seq).unwrap(),
        Heard::Missed(facts) => tell.send(1_000_000 + facts).unwrap(),
        Heard::Event(_) => {}
    }));
    let most = u64::try_from(WAITING_MAX).unwrap();
    let trial = TrialNumber(1);
    (1..=most + 3).for_each(|seq| fold.put(fact(seq, What::Run(RunEvent::TrialBegan { trial }))));
    assert!(got.try_recv().is_err(), "`put` folds nothing");
    fold.look(|_| ());
    let heard: Vec<u64> = got.try_iter().collect();
    assert_eq!(heard.len(), WAITING_MAX + 1);
    assert!(heard.is_sorted());
    assert_eq!(heard.last(), Some(&1_000_003), "three did not fit");
    fold.put(fact(most + 4, What::Run(RunEvent::Ended { how: Outcome::Completed, why: None })));
    assert!(fold.look(|live| live.finality().is_over), "a reader sees all facts put before");
    assert_eq!(got.try_iter().collect::<Vec<_>>(), [most + 4]);
    assert!(got.recv().is_err(), "listeners are dropped");
}
