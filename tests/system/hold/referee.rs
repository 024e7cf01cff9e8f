//! The referee of commands: what it calls work at the same time, and which promises it reads.

use support::referee::{Reporter, Work, overlaps, promises};
use tandem::time::Mono;

#[test]
fn the_referee_knows_who_worked_at_the_same_time_and_what_was_promised() {
    let one = |name: &str, fence, first, gone: Option<u64>| {
        let (group, name) = ("g0".to_owned(), name.to_owned());
        let work = Work { group, name, fence };
        let (first, last) = (Mono(first), Mono(first + 1));
        let (kind, gone) = ("obeys".to_owned(), gone.map(Mono));
        Reporter { work, kind, pid: 1, first, last, gone }
    };
    // Two processes of one command, one after it, and one that begins before the last is gone.
    let all = [one("a", 1, 10, Some(20)), one("a", 1, 12, Some(30)), one("b", 2, 30, Some(50))];
    assert_eq!(overlaps(&all), []);
    let late = [one("a", 1, 10, Some(20)), one("a", 1, 12, Some(31)), one("b", 2, 30, None)];
    assert_eq!(overlaps(&late), [(late[1].clone(), late[2].clone())]);
    // The same member with another fence is another command.
    let same = [one("a", 1, 10, None), one("a", 2, 30, None)];
    assert_eq!(overlaps(&same).len(), 1);
    let said = "TRACE Promised. now=Mono(5) until=Mono(70) fence=Some(3)\n\
                TRACE Promised. now=Mono(9) until=Mono(75) fence=Some(3)\n\
                TRACE Promised. now=Mono(9) until=Mono(99) fence=Some(4)\nother until=Mono(200)";
    assert_eq!(promises(said), [(3, Mono(75)), (4, Mono(99))].into());
}
