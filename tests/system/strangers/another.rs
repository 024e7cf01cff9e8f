//! Programs that run as another user.

use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

/// The user `nobody`, who owns no files.
pub const NOBODY: u32 = 65_534;

/// The command, as another user.
pub fn as_nobody(program: &str) -> Command {
    let root = rustix::process::geteuid().is_root();
    assert!(root, "this test runs a program as another user, which takes root: run tests/all so");
    let mut command = Command::new(program);
    // Root's groups go with root.
    command.uid(NOBODY).gid(NOBODY).current_dir("/").env_clear().env("PATH", "/usr/bin:/bin");
    command
}

/// Connects, says these bytes, and prints what is answered first.
const TCP: &str = r#"
use IO::Socket::INET;
$SIG{PIPE} = 'IGNORE';
alarm 120;
my $socket = IO::Socket::INET->new(PeerAddr => $ARGV[0], Timeout => 60) or die "connect: $!";
syswrite $socket, pack('H*', $ARGV[1]);
my $heard = '';
sysread $socket, $heard, 65536;
print $heard;
"#;

/// What the one who listens at `address` answers these bytes: to us, or to another user.
pub fn answer(mut perl: Command, address: &str, said: &[u8]) -> Vec<u8> {
    let hex: String = said.iter().map(|byte| format!("{byte:02x}")).collect();
    let done = perl.args(["-e", TCP, address, &hex]).output().unwrap();
    assert_success(&done);
    done.stdout
}

/// It ran to its end.
pub fn assert_success(done: &Output) {
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// The same program, as the user who runs the test.
pub fn as_ourselves(program: &str) -> Command {
    Command::new(program)
}
