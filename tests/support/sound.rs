//! What holds of a finished run on any host, however slow: `sound.py` judges it, from outside.

use std::process::Command;

use tandem::verdict::Report;

use super::experiment::{Finished, output};

impl Finished {
    /// Its report. Fails unless the run ended by itself, with verdict pass or one that nothing but
    /// limits on time explain; every fault took effect and was healed; every trial recovered; no
    /// exclusive group broke its promise; and its journal alone yields the same numbers.
    pub fn sound(&self) -> Report {
        let code = self.code().unwrap_or_else(|| panic!("a signal ended it\n{self}"));
        let judged = output(
            Command::new("python3")
                .arg(format!("{}/tests/support/sound.py", crate::ROOT))
                .arg(&self.out)
                .arg(code.to_string()),
        );
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(
            judged.status.success(),
            "{}{}\n{self}",
            said(&judged.stdout),
            said(&judged.stderr)
        );
        self.report()
    }
}
