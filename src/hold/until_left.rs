//! Whether what runs for a member is still wanted, from the first turn to the last.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;

use super::HoldError;
use tandem_member::Member;

/// Calls `turn` until it returns something, and tells it whether what runs is still wanted: until
/// `stop` is set where claims are `promised`, for it must end before the member leaves; otherwise
/// until the member, which leaves once `stop` is set, has left.
///
/// # Errors
/// What `turn` returns.
pub(super) fn until_left<T>(
    member: &Member,
    promised: bool,
    stop: &AtomicBool,
    mut turn: impl FnMut(bool) -> Result<Option<T>, HoldError>,
) -> Result<T, HoldError> {
    let left = AtomicBool::new(false);
    scope(|scope| {
        let mut leaves = false;
        loop {
            let stops = stop.load(Ordering::SeqCst);
            if stops && !promised && !leaves {
                leaves = true;
                scope.spawn(|| {
                    member.depart();
                    left.store(true, Ordering::SeqCst);
                });
            }
            let wanted = if promised { !stops } else { !left.load(Ordering::SeqCst) };
            if let Some(end) = turn(wanted)? {
                return Ok(end);
            }
        }
    })
}
