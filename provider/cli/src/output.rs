//! The file or standard output that a report is written to.

use crate::Streams;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};

/// Where a report is written.
pub(crate) struct Output<'a> {
    /// Its name for messages.
    name: String,
    to: BufWriter<Box<dyn Write + 'a>>,
    is_pipe: bool,
}

impl<'a> Output<'a> {
    /// The file, or standard output if there is none.
    pub(crate) fn open(file: Option<&str>, streams: &'a mut Streams<'_>) -> Result<Self, Vec<String>> {
        let (name, to): (String, Box<dyn Write + 'a>) = match file {
            Some(file) => {
                let open = File::create(file).map_err(|error| vec![refused(file, &error)])?;
                (file.to_owned(), Box::new(open))
            }
            None => ("to standard output".to_owned(), Box::new(&mut *streams.stdout)),
        };
        Ok(Self { name, to: BufWriter::with_capacity(1 << 16, to), is_pipe: file.is_none() })
    }

    /// Ends a report. A reader that has seen enough, such as `head`, is no error.
    pub(crate) fn done(&mut self, written: io::Result<()>) -> Result<(), Vec<String>> {
        match written.and_then(|()| self.to.flush()) {
            Err(error) if self.is_pipe && error.kind() == ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(vec![refused(&self.name, &error)]),
            Ok(()) => Ok(()),
        }
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

fn refused(name: &str, error: &io::Error) -> String {
    let hint = match error.kind() {
        ErrorKind::NotFound => "; create its folder first",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "; choose a folder that you may write to"
        }
        ErrorKind::IsADirectory => "; name a file in it",
        _ => "",
    };
    format!("cannot write {name}: {error}{hint}")
}
