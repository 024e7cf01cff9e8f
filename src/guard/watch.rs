//! The guard's own process.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::Undone;
use super::charge::{Charge, End};
use super::lease::{LEASE, LOOK, Silence};
use super::pipe::Lines;
use crate::time::Mono;

/// Holds until its master is gone, was silent for too long, or says that all is well; the ledger of
/// the run is in the folder `runs`. What could not be undone, and still stands in the ledger.
///
/// # Errors
/// Signals cannot be ignored; then nothing was held.
pub fn watch(input: impl Read + AsFd, mut output: impl Write, runs: &Path) -> io::Result<Undone> {
    // What ends the controller must not end its guard: the pipe alone counts.
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, std::sync::Arc::default())?;
    }
    let mut charge = Charge::default();
    let mut lines = Lines::of(input);
    let mut silence = Silence::new(Mono::now());
    loop {
        let waiting = lines.wait(LOOK);
        for line in &waiting.lines {
            if line == "free" {
                return Ok(charge.undo(End::Freed));
            }
            let answer = charge.answer(line, runs);
            // An output that nobody reads means that the input ends, too.
            writeln!(output, "{answer}").and_then(|()| output.flush()).ok();
        }
        if waiting.ended {
            return Ok(charge.undo(End::Closed));
        }
        // Whatever had been said by then is read, however late this process got its turn.
        if silence.look(Mono::now(), !waiting.lines.is_empty()) >= LEASE {
            return Ok(charge.undo(End::Silent));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::super::ledger::page;
    use super::super::strays::MARK;
    use super::super::undo::GONE;
    use super::super::{Identity, Revival, Run, UserCommand};
    use super::*;
    use crate::time::Span;

    /// A guard's master, and where everything is.
    struct Stage {
        folder: tempfile::TempDir,
        told: String,
    }

    impl Stage {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let mut stage = Self { folder, told: String::new() };
            stage.tell(&format!("run {}", serde_json::to_string(&stage.run()).unwrap()));
            stage
        }

        fn run(&self) -> Run {
            Run::own("stage".to_owned(), "duo".parse().unwrap(), self.folder.path().into())
        }

        fn runs(&self) -> PathBuf {
            self.folder.path().join("runs")
        }

        /// A broker that leaves a file of its name.
        fn broker(&self, program: &str, name: &str) -> Revival {
            let made = self.folder.path().join(name).display().to_string();
            Revival {
                command: vec![program.to_owned(), made],
                folder: self.folder.path().into(),
                ends_within: None,
            }
        }

        fn tell(&mut self, line: &str) {
            self.told += line;
            self.told += "\n";
        }

        fn tell_of(&mut self, word: &str, broker: &Revival) {
            self.tell(&format!("{word} {}", serde_json::to_string(broker).unwrap()));
        }

        /// What the guard said, and what it undid, once its master had said all this; where it
        /// `stays`, it says nothing more until the guard has ended.
        fn play(&self, stays: bool) -> (String, Undone) {
            let (reader, mut writer) = io::pipe().unwrap();
            writer.write_all(self.told.as_bytes()).unwrap();
            let writer = stays.then_some(writer);
            let mut said = Vec::new();
            let undone = watch(reader, &mut said, &self.runs()).unwrap();
            drop(writer);
            (String::from_utf8(said).unwrap(), undone)
        }

        fn is_made(&self, name: &str) {
            let began = Mono::now();
            while !self.folder.path().join(name).exists() {
                assert!(Mono::now().since(began) < GONE, "{name} was not started");
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }

    #[test]
    fn what_is_still_promised_in_the_end_is_started() {
        let mut stage = Stage::new();
        let (a, b) = (stage.broker("touch", "a"), stage.broker("touch", "b"));
        stage.tell_of("promise", &a);
        stage.tell_of("promise", &b);
        stage.tell_of("kept", &b);
        let (said, undone) = stage.play(false);
        assert_eq!(said, "ready\npromised\npromised\nforgotten\n");
        assert_eq!((undone.started, undone.left), (vec![a.clone()], vec![]));
        stage.is_made("a");
        assert!(!stage.folder.path().join("b").exists(), "the one that was kept");
        assert!(a.identity().unwrap().pid > 0);
        assert!(!stage.run().file(&stage.runs()).exists(), "nothing is left to be undone");
    }

    #[test]
    fn what_is_still_owed_in_the_end_is_run_the_last_first() {
        let mut stage = Stage::new();
        let command = |name: &str| UserCommand {
            command: vec!["sh".to_owned(), "-c".to_owned(), format!("echo {name} >> order")],
            folder: stage.folder.path().into(),
            environment: BTreeMap::new(),
            timeout: Span::ms(5_000),
            log: stage.folder.path().join("command.log"),
        };
        let (a, b, c) = (command("a"), command("b"), command("c"));
        for (word, command) in [("owe", &a), ("owe", &b), ("owe", &c), ("paid", &b)] {
            let json = serde_json::to_string(command).unwrap();
            stage.tell(&format!("{word} {json}"));
        }
        let (said, undone) = stage.play(false);
        assert_eq!(said, "ready\nowed\nowed\nowed\nforgotten\n");
        assert_eq!((undone.ran, undone.left), (vec![c, a], vec![]));
        let order = std::fs::read_to_string(stage.folder.path().join("order")).unwrap();
        assert_eq!(order, "c\na\n");
        assert!(!stage.run().file(&stage.runs()).exists(), "nothing is left to be undone");
    }

    #[test]
    fn what_cannot_be_healed_keeps_nothing_else_from_it_and_is_remembered() {
        let mut stage = Stage::new();
        let missing = stage.broker("/nonexistent/kafka", "missing");
        let broker = stage.broker("touch", "there");
        let mut sleeper = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
        let pid = sleeper.id();
        stage.tell_of("promise", &missing);
        stage.tell_of("promise", &broker);
        stage.tell(&format!("hold {pid}"));
        let (_, undone) = stage.play(false);
        assert_eq!((undone.killed, undone.started), (vec![pid], vec![broker]));
        assert!(undone.left[0].contains("cannot be started"), "{:?}", undone.left);
        sleeper.wait().unwrap();
        stage.is_made("there");
        // Whoever comes next tries again, that one alone.
        let ledger = page(&stage.run().file(&stage.runs())).unwrap();
        assert_eq!(ledger.promised, [missing]);
    }

    #[test]
    fn a_master_that_is_silent_is_gone_though_its_pipe_is_open() {
        let mut stage = Stage::new();
        let mut sleep = Command::new("sleep");
        sleep.arg("60").stdin(Stdio::null());
        let mut sleeper = sleep.spawn().unwrap();
        let mut stranger = sleep.env(MARK, "another run").spawn().unwrap();
        // Started, and not held yet.
        let mut stray = sleep.env(MARK, stage.run().mark()).spawn().unwrap();
        stage.tell(&format!("hold {}", sleeper.id()));
        let began = Mono::now();
        let (said, mut undone) = stage.play(true);
        let took = Mono::now().since(began);
        assert!(LEASE <= took && took < LEASE + Duration::from_secs(2), "{took:?}");
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
        // The master itself is still there, and whoever wants to end it must find it.
        let ledger = page(&stage.run().file(&stage.runs())).unwrap();
        assert_eq!(ledger.run.controller, Identity::own());
    }

    #[test]
    fn nothing_is_held_that_is_not_written_down() {
        let mut stage = Stage::new();
        stage.told.clear();
        stage.tell(&format!("hold {}", std::process::id()));
        stage.tell("sing");
        stage.tell("renew");
        let (said, undone) = stage.play(false);
        let expected = "refused: no run was begun\nrefused: nobody knows what this is\nrenewed\n";
        assert_eq!((said.as_str(), undone), (expected, Undone::default()));
    }
}
