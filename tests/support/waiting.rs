//! Waiting for a condition, with a bound.

use std::time::Duration;

use tandem::time::Mono;

/// How often a condition is looked at: reading a journal costs what is being measured.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// Waits until `done` has a value; at the end says why it has none.
pub fn eventually_ok<T>(
    what: &str,
    within: Duration,
    mut done: impl FnMut() -> Result<T, String>,
) -> T {
    looking_each(LOOK, what, within, || done().map_err(|why| format!(": {why}")))
}

/// The same, looking so often. What is said in the end is put behind the rest as it is.
pub(crate) fn looking_each<T>(
    pause: Duration,
    what: &str,
    within: Duration,
    mut done: impl FnMut() -> Result<T, String>,
) -> T {
    let began = Mono::now();
    loop {
        let why = match done() {
            Ok(value) => return value,
            Err(why) => why,
        };
        assert!(Mono::now().since(began) < within, "{what}: not within {within:?}{why}");
        std::thread::sleep(pause);
    }
}
