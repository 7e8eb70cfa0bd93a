//! Builds that cannot load a library of the machine: static ones, musl, and other processors.

use std::path::Path;

use crate::{NONCE, Refused, Unavailable};

#[cfg(target_arch = "x86_64")]
const WHY: &str = "this build is static and loads no libraries";
#[cfg(not(target_arch = "x86_64"))]
const WHY: &str = "ipsec-mb is for x86-64 only";

/// A library that no such build has.
#[derive(Debug)]
pub(crate) enum Library {}

impl Library {
    pub(crate) fn installed() -> Result<Self, Unavailable> {
        Err(Unavailable::Build(WHY))
    }

    pub(crate) fn at(_: &Path) -> Result<Self, Unavailable> {
        Err(Unavailable::Build(WHY))
    }

    pub(crate) fn version(&self) -> &str {
        match *self {}
    }
}

/// A key that no such build has.
pub(crate) enum Key {}

impl Key {
    pub(crate) fn new(library: &'static Library, _: &[u8; 32]) -> Self {
        match *library {}
    }

    pub(crate) fn seal(&self, _: &[u8; NONCE], _: &[u8], _: &mut [u8]) -> Option<Result<[u8; 16], Refused>> {
        match *self {}
    }

    pub(crate) fn open(
        &self,
        _: &[u8; NONCE],
        _: &[u8],
        _: &mut [u8],
        _: &[u8],
    ) -> Option<Result<(), Refused>> {
        match *self {}
    }
}
