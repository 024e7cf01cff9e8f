//! A host that is suspended in appearance: what every process of a run adds to its clock.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// For how long the host "was suspended" so far.
pub struct Sleep {
    file: PathBuf,
    total: Duration,
}

impl Sleep {
    /// Not at all.
    pub fn none(folder: &Path) -> Self {
        let sleep = Self { file: folder.join("suspended"), total: Duration::ZERO };
        sleep.write();
        sleep
    }

    /// The variable that names it to a run.
    pub fn variable(&self) -> (&'static str, &str) {
        ("TANDEM_TEST_SUSPENDED", self.file.to_str().unwrap())
    }

    /// The host sleeps for so long, which takes no time.
    pub fn sleep(&mut self, lasts: Duration) {
        self.total += lasts;
        self.write();
    }

    fn write(&self) {
        let total = u64::try_from(self.total.as_nanos()).unwrap();
        // Eight bytes in one write over the old ones: a reader sees the old number or the new one.
        let file = File::options().create(true).truncate(false).write(true).open(&self.file);
        file.unwrap().write_all_at(&total.to_le_bytes(), 0).unwrap();
    }
}
