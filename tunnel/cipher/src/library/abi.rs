//! The part of the library's interface that is used: `intel-ipsec-mb.h`.
//!
//! The fields below have the same offsets and values in all releases from 1.1 to 2.0.2, which were compared. The sizes of the
//! structures differ between them, so only the library allocates them.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::offset_of;
use std::ptr::NonNull;

use crate::Unavailable;

/// The first supported release, as (major << 16) | (minor << 8) | patch.
const OLDEST: u32 = 0x01_01_00;
/// The first one that is not: what is developed after 2.0 renumbers the ciphers.
const TOO_NEW: u32 = 0x02_01_00;

/// The library clears keys from its memory and from registers.
pub(super) const SAFE_DATA: u64 = 1 << 14;
/// The features with which the library is faster than ring: AVX-512 F, DQ, CD, BW, VL, and IFMA.
pub(super) const FAST: u64 = 0b1_1111 << 7 | 1 << 17;

/// `IMB_STATUS_COMPLETED`.
pub(super) const COMPLETED: u32 = 3;
/// `IMB_CIPHER_CHACHA20_POLY1305`.
pub(super) const CHACHA20_POLY1305_CIPHER: u32 = 19;
/// `IMB_AUTH_CHACHA20_POLY1305`.
pub(super) const CHACHA20_POLY1305_HASH: u32 = 29;

/// What is done to a message.
#[derive(Clone, Copy)]
pub(super) struct Direction {
    pub(super) cipher: u32,
    pub(super) order: u32,
}

/// Encrypts, then authenticates the ciphertext.
pub(super) const ENCRYPT: Direction = Direction { cipher: 1, order: 1 };
/// Authenticates the ciphertext, then decrypts.
pub(super) const DECRYPT: Direction = Direction { cipher: 2, order: 2 };

pub(super) type Free = unsafe extern "C" fn(*mut Manager);
pub(super) type Next = unsafe extern "C" fn(*mut Manager) -> *mut Job;
pub(super) type Submit = unsafe extern "C" fn(*mut Manager) -> *mut Job;

/// The beginning of `IMB_MGR`.
#[repr(C)]
pub(super) struct Manager {
    _flags: u64,
    _features: u64,
    _reserved: [u64; 5],
    _architecture: u32,
    pub(super) error: c_int,
    pub(super) next: Option<Next>,
    pub(super) submit: Option<Submit>,
}

/// The beginning of `IMB_JOB`, with the fields of this cipher in its unions.
#[repr(C)]
pub(super) struct Job {
    pub(super) encryption_key: *const c_void,
    pub(super) decryption_key: *const c_void,
    pub(super) key_length: u64,
    pub(super) source: *const u8,
    pub(super) destination: *mut u8,
    pub(super) cipher_offset: u64,
    pub(super) cipher_length: u64,
    pub(super) hash_offset: u64,
    pub(super) hash_length: u64,
    pub(super) nonce: *const u8,
    pub(super) nonce_length: u64,
    pub(super) tag: *mut u8,
    pub(super) tag_length: u64,
    pub(super) aad: *const c_void,
    pub(super) aad_length: u64,
    pub(super) context: *mut c_void,
    pub(super) status: u32,
    pub(super) cipher: u32,
    pub(super) direction: u32,
    pub(super) hash: u32,
    pub(super) order: u32,
}

const _: () = {
    assert!(offset_of!(Manager, error) == 60);
    assert!(offset_of!(Manager, next) == 64);
    assert!(offset_of!(Manager, submit) == 72);
    assert!(offset_of!(Job, cipher_offset) == 40);
    assert!(offset_of!(Job, nonce) == 72);
    assert!(offset_of!(Job, aad) == 104);
    assert!(offset_of!(Job, status) == 128);
    assert!(offset_of!(Job, order) == 144);
    // The smallest job is that of 1.1 to 1.3.
    assert!(size_of::<Job>() <= 200);
};

/// Functions of the loaded library.
#[derive(Debug)]
pub(super) struct Api {
    pub(super) allocate: unsafe extern "C" fn(u64) -> *mut Manager,
    pub(super) free: Free,
    pub(super) initialize: unsafe extern "C" fn(*mut Manager, *mut c_int),
    features: unsafe extern "C" fn() -> u64,
    text: unsafe extern "C" fn() -> *const c_char,
}

impl Api {
    /// Loads the library, and looks up its functions.
    pub(super) fn load(file: &CStr) -> Result<Self, Unavailable> {
        // SAFETY: the name ends with a zero byte. The library's constructors do nothing beyond the C library's own.
        let handle = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        let handle = NonNull::new(handle).ok_or_else(|| Unavailable::Loader(last_error()))?;
        // SAFETY: the function has this signature in all releases.
        let version: unsafe extern "C" fn() -> u32 = unsafe { symbol(handle, c"imb_get_version")? };
        // SAFETY: it takes nothing, and returns a constant.
        let version = unsafe { version() };
        if !(OLDEST..TOO_NEW).contains(&version) {
            let [_, major, minor, patch] = version.to_be_bytes();
            return Err(Unavailable::Version(format!("{major}.{minor}.{patch}")));
        }
        // SAFETY: the functions have these signatures in the releases that were compared, and this is one of them.
        unsafe {
            Ok(Self {
                allocate: symbol(handle, c"alloc_mb_mgr")?,
                free: symbol(handle, c"free_mb_mgr")?,
                initialize: symbol(handle, c"init_mb_mgr_auto")?,
                features: symbol(handle, c"imb_get_feature_flags")?,
                text: symbol(handle, c"imb_get_version_str")?,
            })
        }
    }

    /// Features of the processor and of the build.
    pub(super) fn features(&self) -> u64 {
        // SAFETY: it takes nothing, and returns a number.
        unsafe { (self.features)() }
    }

    /// The version for people.
    pub(super) fn version_text(&self) -> String {
        // SAFETY: it takes nothing, and returns a string constant of the library, which stays loaded.
        let text = unsafe { CStr::from_ptr((self.text)()) };
        text.to_string_lossy().into_owned()
    }
}

/// A function of the library.
///
/// # Safety
/// `F` is the type of a pointer to the function of this name.
unsafe fn symbol<F: Copy>(handle: NonNull<c_void>, name: &CStr) -> Result<F, Unavailable> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the handle is of `dlopen`, and is never closed.
    let address = unsafe { libc::dlsym(handle.as_ptr(), name.as_ptr()) };
    if address.is_null() {
        return Err(Unavailable::Loader(last_error()));
    }
    // SAFETY: not null, and of the caller's type, which has the size of a pointer.
    Ok(unsafe { std::mem::transmute_copy(&address) })
}

/// What the loader says about its last failure on this thread.
fn last_error() -> String {
    // SAFETY: returns null, or a string that is valid until the next call on this thread.
    let text = unsafe {
        let text = libc::dlerror();
        if text.is_null() { None } else { Some(CStr::from_ptr(text).to_string_lossy().into_owned()) }
    };
    text.unwrap_or_else(|| "the loader reports no reason".to_owned())
}
