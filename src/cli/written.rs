//! Writes a file that the user names, which may be more than a file.
//!
//! A regular file is written anew beside its place and renamed, so that a reader sees the old
//! content or the new, never half. A link stays, and the file that it leads to is replaced. A
//! device or a pipe is written where it is.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;

use crate::time::Mono;

/// How long a pipe may have no reader.
const READER: Duration = Duration::from_secs(10);
/// How often it is looked for one.
const LOOK: Duration = Duration::from_millis(20);

/// Fills a new file in the place of `path`.
///
/// # Errors
/// It cannot be written, or `fill` fails. What was there before stays, if it is a regular file.
pub(super) fn write_to<R>(
    path: &Path,
    fill: impl FnOnce(&mut File) -> io::Result<R>,
) -> io::Result<R> {
    let Some(path) = replaceable(path)? else { return fill(&mut in_place(path)?) };
    let mut beside = OsString::from(&path);
    beside.push(".new");
    let write = || {
        let mut file = File::create(&beside)?;
        if let Ok(old) = fs::metadata(&path) {
            // Not every file system keeps one.
            file.set_permissions(old.permissions()).ok();
        }
        let filled = fill(&mut file)?;
        file.sync_all()?;
        fs::rename(&beside, &path)?;
        Ok(filled)
    };
    write().inspect_err(|_| {
        // Half a file is useless, and takes space.
        fs::remove_file(&beside).ok();
    })
}

/// The regular file that `path` is or leads to, or the place where none is yet; nothing for
/// everything else. What an open descriptor leads to, as `/dev/stdout`, may be written by others.
fn replaceable(path: &Path) -> io::Result<Option<PathBuf>> {
    let is_link = fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink());
    match fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => Ok(None),
        Ok(_) if ["/dev", "/proc"].iter().any(|folder| path.starts_with(folder)) => Ok(None),
        Ok(_) if is_link => fs::canonicalize(path).map(Some),
        // A link to a file that is not there yet.
        Err(error) if is_link && error.kind() == io::ErrorKind::NotFound => Ok(None),
        Ok(_) | Err(_) => Ok(Some(path.to_owned())),
    }
}

/// Opens it as it is. A pipe has some time to find a reader.
fn in_place(path: &Path) -> io::Result<File> {
    let began = Mono::now();
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    // Without that flag, a pipe without a reader would hold this up for ever.
    options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let file = loop {
        match options.open(path) {
            Err(error)
                if error.raw_os_error() == Some(Errno::NXIO.raw_os_error())
                    && Mono::now().since(began) < READER =>
            {
                std::thread::sleep(LOOK);
            }
            opened => break opened?,
        }
    };
    fcntl_setfl(&file, OFlags::empty())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::io::{Read, Write};
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    fn written(path: &Path, text: &str) -> io::Result<()> {
        write_to(path, |file| file.write_all(text.as_bytes()))
    }

    #[test]
    fn a_link_stays_and_what_it_leads_to_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        symlink(&file, &link).unwrap();
        for text in ["one", "two"] {
            written(&link, text).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        }
    }

    #[test]
    fn a_device_stays_one() {
        written(Path::new("/dev/null"), "text").unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        let full = written(Path::new("/dev/full"), "text").unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn a_pipe_is_written_to_its_reader() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        let read = pipe.clone();
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            File::open(read).unwrap().read_to_string(&mut text).unwrap();
            text
        });
        written(&pipe, "text").unwrap();
        assert_eq!(reader.join().unwrap(), "text");
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    }

    #[test]
    fn who_may_read_it_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for mode in [0o664, 0o600, 0o640] {
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            written(&path, "new").unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
    }

    #[test]
    fn half_a_file_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        written(&path, "whole").unwrap();
        let failed = |file: &mut File| {
            file.write_all(b"ha")?;
            Err::<(), _>(io::Error::other("no more"))
        };
        write_to(&path, failed).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
