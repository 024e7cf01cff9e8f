//! The main loop of the guard process.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;

use super::Undone;
use super::holdings::{End, Holdings};
use super::lease::{LEASE, LOOK, Silence};
use super::pipe::Lines;
use crate::host::outlive_signals;
use crate::time::Mono;

/// Reads the controller's lines until it frees the guard, is gone, or is silent for too long. Then
/// undoes what is left, and returns what was undone. The ledger of the run is in the folder `runs`.
///
/// # Errors
/// Signals cannot be ignored; then nothing was held.
pub fn watch(input: impl Read + AsFd, mut output: impl Write, runs: &Path) -> io::Result<Undone> {
    // A signal that ends the controller must not end the guard, which only watches the pipe.
    outlive_signals()?;
    let mut holdings = Holdings::default();
    let mut lines = Lines::of(input);
    let mut silence = Silence::new(Mono::now());
    loop {
        let waiting = lines.wait(LOOK);
        for line in &waiting.lines {
            if line == "free" {
                return Ok(holdings.undo(End::Freed));
            }
            let answer = holdings.answer(line, runs);
            // If the output is closed, the input will end, too.
            writeln!(output, "{answer}").and_then(|()| output.flush()).ok();
        }
        if waiting.ended {
            return Ok(holdings.undo(End::Closed));
        }
        // All lines so far are read, no matter how late this process was scheduled.
        if silence.look(Mono::now(), !waiting.lines.is_empty()) >= LEASE {
            return Ok(holdings.undo(End::Silent));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::super::ledger::{Ledger, page};
    use super::super::strays::MARK;
    use super::super::{Identity, Revival, Run, UserCommand};
    use super::*;
    use crate::time::Span;

    /// A broker that was started has made its file by then, on a busy host as well.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// A controller's lines to its guard, and the folder with all files.
    struct Stage {
        folder: tempfile::TempDir,
        input: String,
    }

    impl Stage {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let mut stage = Self { folder, input: String::new() };
            stage.send(&format!("run {}", serde_json::to_string(&stage.run()).unwrap()));
            stage
        }

        fn run(&self) -> Run {
            Run::own("stage".to_owned(), "duo".parse().unwrap(), self.folder.path().into())
        }

        fn runs(&self) -> PathBuf {
            self.folder.path().join("runs")
        }

        /// A broker that creates a file of its name.
        fn broker(&self, program: &str, name: &str) -> Revival {
            let made = self.folder.path().join(name).display().to_string();
            Revival {
                command: vec![program.to_owned(), made],
                folder: self.folder.path().into(),
                ends_within: None,
            }
        }

        fn send(&mut self, line: &str) {
            self.input += line;
            self.input += "\n";
        }

        fn send_broker(&mut self, word: &str, broker: &Revival) {
            self.send(&format!("{word} {}", serde_json::to_string(broker).unwrap()));
        }

        /// Plays all lines to a guard. Returns its answers, and what it undid. A controller that
        /// `stays` keeps the pipe open, and is silent until the guard has ended.
        fn play(&self, stays: bool) -> (String, Undone) {
            let (reader, mut writer) = io::pipe().unwrap();
            writer.write_all(self.input.as_bytes()).unwrap();
            let writer = stays.then_some(writer);
            let mut said = Vec::new();
            let undone = watch(reader, &mut said, &self.runs()).unwrap();
            drop(writer);
            (String::from_utf8(said).unwrap(), undone)
        }

        fn is_made(&self, name: &str) {
            let began = Mono::now();
            while !self.folder.path().join(name).exists() {
                assert!(Mono::now().since(began) < PATIENCE, "{name} was not started");
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }

    #[test]
    fn a_promised_broker_is_started_at_the_end() {
        let mut stage = Stage::new();
        let (a, b) = (stage.broker("touch", "a"), stage.broker("touch", "b"));
        stage.send_broker("promise", &a);
        stage.send_broker("promise", &b);
        stage.send_broker("kept", &b);
        let (said, undone) = stage.play(false);
        assert_eq!(said, "ready\npromised\npromised\nforgotten\n");
        assert_eq!((undone.started, undone.left), (vec![a.clone()], vec![]));
        stage.is_made("a");
        assert!(!stage.folder.path().join("b").exists(), "the one that was kept");
        assert!(a.identity().unwrap().pid > 0);
        assert!(!stage.run().file(&stage.runs()).exists(), "nothing is left to be undone");
    }

    #[test]
    fn owed_commands_are_run_at_the_end_the_last_first() {
        let mut stage = Stage::new();
        let command = |name: &str| UserCommand {
            command: vec!["sh".to_owned(), "-c".to_owned(), format!("echo {name} >> order")],
            folder: stage.folder.path().into(),
            environment: BTreeMap::new(),
            timeout: Span::ms(120_000),
            log: stage.folder.path().join("command.log"),
        };
        let (a, b, c) = (command("a"), command("b"), command("c"));
        for (word, command) in [("owe", &a), ("owe", &b), ("owe", &c), ("paid", &b)] {
            let json = serde_json::to_string(command).unwrap();
            stage.send(&format!("{word} {json}"));
        }
        let (said, undone) = stage.play(false);
        assert_eq!(said, "ready\nowed\nowed\nowed\nforgotten\n");
        assert_eq!((undone.ran, undone.left), (vec![c, a], vec![]));
        let order = std::fs::read_to_string(stage.folder.path().join("order")).unwrap();
        assert_eq!(order, "c\na\n");
        assert!(!stage.run().file(&stage.runs()).exists(), "nothing is left to be undone");
    }

    #[test]
    fn a_failed_step_does_not_stop_the_others_and_stays_in_the_ledger() {
        let mut stage = Stage::new();
        let missing = stage.broker("/nonexistent/kafka", "missing");
        let broker = stage.broker("touch", "there");
        let mut sleeper = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
        let pid = sleeper.id();
        stage.send_broker("promise", &missing);
        stage.send_broker("promise", &broker);
        stage.send(&format!("hold {pid}"));
        let (_, undone) = stage.play(false);
        assert_eq!((undone.killed, undone.started), (vec![pid], vec![broker]));
        assert!(undone.left[0].contains("cannot be started"), "{:?}", undone.left);
        sleeper.wait().unwrap();
        stage.is_made("there");
        // The next attempt tries only that broker again.
        let ledger = page(&stage.run().file(&stage.runs())).unwrap();
        assert_eq!(ledger.promised, [missing]);
    }

    #[test]
    fn a_silent_controller_is_gone_although_its_pipe_is_open() {
        let mut stage = Stage::new();
        let mut sleep = Command::new("sleep");
        sleep.arg("600").stdin(Stdio::null());
        let mut sleeper = sleep.spawn().unwrap();
        let mut stranger = sleep.env(MARK, "another run").spawn().unwrap();
        // Started, and not held yet.
        let mut stray = sleep.env(MARK, stage.run().mark()).spawn().unwrap();
        stage.send(&format!("hold {}", sleeper.id()));
        let began = Mono::now();
        let (said, mut undone) = stage.play(true);
        let took = Mono::now().since(began);
        assert!(LEASE <= took, "{took:?}");
        assert_eq!(said, format!("ready\nheld {}\n", sleeper.id()));
        undone.killed.sort_unstable();
        let mut expected = [sleeper.id(), stray.id()];
        expected.sort_unstable();
        assert_eq!(undone.killed, expected);
        sleeper.wait().unwrap();
        stray.wait().unwrap();
        assert_eq!(stranger.try_wait().unwrap(), None);
        stranger.kill().unwrap();
        stranger.wait().unwrap();
        // The controller still runs, so the ledger must stay: `tandem halt` finds it there.
        let ledger = page(&stage.run().file(&stage.runs())).unwrap();
        assert_eq!(ledger.run.controller, Identity::own());
    }

    #[test]
    fn a_guard_holds_what_the_one_before_it_held_for_the_same_run() {
        let stage = Stage::new();
        let mut sleep = Command::new("sleep");
        sleep.arg("600").stdin(Stdio::null());
        let (mut held, mut stranger) = (sleep.spawn().unwrap(), sleep.spawn().unwrap());
        // The ledger of a guard that was killed. One process has ended, and its pid is reused.
        let process = Identity::of(held.id()).unwrap();
        let mut reused = Identity::of(stranger.id()).unwrap();
        reused.since += 1;
        let run = Run { guard: Some(Identity { pid: 1, since: 0 }), ..stage.run() };
        drop(Ledger::create(&stage.runs(), &run, &[process, reused]).unwrap());
        let (said, undone) = stage.play(false);
        assert_eq!((said.as_str(), undone.killed), ("ready\n", vec![held.id()]));
        held.wait().unwrap();
        assert_eq!(stranger.try_wait().unwrap(), None);
        stranger.kill().unwrap();
        stranger.wait().unwrap();
        // Another run with the same pid: nothing of it is held.
        let mut other = sleep.spawn().unwrap();
        let before = Run { controller: Identity { since: 0, ..run.controller }, ..run };
        let process = Identity::of(other.id()).unwrap();
        drop(Ledger::create(&stage.runs(), &before, &[process]).unwrap());
        assert_eq!(stage.play(false).1.killed, Vec::<u32>::new());
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn nothing_is_held_without_a_ledger() {
        let mut stage = Stage::new();
        stage.input.clear();
        stage.send(&format!("hold {}", std::process::id()));
        stage.send("sing");
        stage.send("renew");
        let (said, undone) = stage.play(false);
        let expected = "refused: no run was begun\nrefused: unknown command\nrenewed\n";
        assert_eq!((said.as_str(), undone), (expected, Undone::default()));
    }
}
