//! A controller that hangs: the loop that heals stands still, and the threads beside it run on. Its
//! guard goes by the loop, and does what that does no more.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use support::experiment::eventually;
use support::leftovers::see;
use support::undone::{Stage, says};
use support::up::{Up, nothing_is_left};
use tandem::live_view::Level;
use tandem::time::Mono;

/// A pulse of two seconds ago counts, and three seconds of silence do not; the rest is the host's.
const NOTICED: Duration = Duration::from_secs(10);

/// PTRACE_SEIZE and PTRACE_INTERRUPT: one thread stops, and goes on when its holder ends.
const HOLD: &str = "
import ctypes, os, sys
pid, system = int(sys.argv[1]), ctypes.CDLL(None, use_errno=True)
for request in (0x4206, 0x4207):
    if system.ptrace(request, pid, None, None) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
os.waitpid(pid, 0x40000000)
print('held', flush=True)
sys.stdin.read()
";

/// The first thread of a process, held as a debugger holds it; the others run. Dropped, it goes on.
pub(super) struct Held(Child);

impl Held {
    pub(super) fn thread(pid: u32) -> Self {
        let mut python = Command::new("python3");
        python.args(["-c", HOLD, &pid.to_string()]);
        let mut holder = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "held\n", "python3 may hold a process of the same user: see above");
        Self(holder)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().ok();
    }
}

#[test]
fn a_controller_whose_healing_loop_hangs_is_healed_by_its_guard() {
    let stage = Stage::set();
    let (run, family) = stage.under_way();
    assert!(!stage.is_served(), "its faults are in force");
    let began = Mono::now();
    let held = Held::thread(run.pid());
    eventually("that all but the controller is gone", NOTICED, || {
        (family.left().len() == 1).then_some(())
    });
    eprintln!("all was gone {:.1?} after the loop hung", Mono::now().since(began));
    stage.is_healed();
    assert!(see(run.pid()).is_some_and(|one| !one.is_stopped()), "the process itself runs");
    drop(held);
    let run = run.finish();
    says(&run, "the guard ended this run, because this process did not run for ");
    assert_eq!(run.code(), Some(4), "{run}");
    assert!(stage.ledgers().is_empty(), "{run}");
}

#[test]
fn a_loop_that_hangs_for_a_second_is_no_end() {
    let mut up = Up::start("-f topologies/solo.yaml");
    up.await_health(Level::Led);
    for _ in 0..3 {
        assert!(up.status().1.is_some(), "{}", up.said());
        let held = Held::thread(up.supervisor());
        std::thread::sleep(Duration::from_secs(1));
        drop(held);
        std::thread::sleep(Duration::from_millis(500));
    }
    up.await_health(Level::Led);
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    nothing_is_left(up.state());
}

#[test]
fn a_topology_whose_loop_hangs_is_ended_by_its_guard() {
    let mut up = Up::start("-f topologies/solo.yaml");
    let picture = up.await_health(Level::Led);
    let held = Held::thread(up.supervisor());
    let members = picture.groups.values().flat_map(|group| group.members.values());
    let pids: Vec<u32> = members.filter_map(|member| member.pid).collect();
    assert_eq!(pids.len(), 3);
    eventually("the end of the members", NOTICED, || {
        pids.iter().all(|pid| see(*pid).is_none()).then_some(())
    });
    drop(held);
    assert_eq!(up.ends().code(), Some(4), "{}", up.said());
    assert!(up.said().contains("this process did not run for "), "{}", up.said());
    nothing_is_left(up.state());
}
