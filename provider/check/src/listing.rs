//! The findings of a report as a sequence that is written while it is computed.

use crate::Finding;
use serde::ser::{Serialize, SerializeSeq, Serializer};
use std::cell::RefCell;
use std::io;

/// Calls a function with pages of findings until it fails.
pub type Pages<'a> = &'a dyn Fn(&mut dyn FnMut(&[Finding]) -> io::Result<()>) -> io::Result<()>;

/// No more findings than those in the report.
pub fn no_pages(_: &mut dyn FnMut(&[Finding]) -> io::Result<()>) -> io::Result<()> {
    Ok(())
}

/// The findings of a report and of the pages after it, each turned into another value.
pub(crate) struct Listing<'a, F> {
    pub(crate) first: &'a [Finding],
    pub(crate) pages: Pages<'a>,
    /// The values of one page.
    pub(crate) form: F,
}

impl<T: Serialize, F: Fn(&[Finding]) -> Vec<T>> Serialize for Listing<'_, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let seq = RefCell::new(serializer.serialize_seq(None)?);
        let mut failure = None;
        let mut write = |page: &[Finding]| {
            let mut seq = seq.borrow_mut();
            // A page of a thousand at a time bounds the memory of their other form.
            for part in page.chunks(1_000) {
                for value in (self.form)(part) {
                    if let Err(error) = seq.serialize_element(&value) {
                        failure = Some(error);
                        return Err(io::Error::other("the report cannot be written"));
                    }
                }
            }
            Ok(())
        };
        let done = write(self.first).and_then(|()| (self.pages)(&mut write));
        match (failure, done) {
            (Some(error), _) => Err(error),
            (None, Err(error)) => Err(serde::ser::Error::custom(error)),
            (None, Ok(())) => seq.into_inner().end(),
        }
    }
}
