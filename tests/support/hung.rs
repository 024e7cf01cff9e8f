//! A process whose first thread hangs, while its other threads run on.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

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
pub struct Held(Child);

impl Held {
    pub fn thread(pid: u32) -> Self {
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
