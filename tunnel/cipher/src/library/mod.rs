//! Intel's Multi-Buffer Crypto library, loaded at run time.
//!
//! One job is one message. The library processes jobs of ChaCha20-Poly1305 one after the other, within the call that submits
//! them, so batches of jobs save nothing. A manager, which holds the queue of jobs, belongs to one thread.

#![expect(unsafe_code, reason = "calls functions of a C library")]

mod abi;

use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr::{self, NonNull};

use zeroize::Zeroizing;

use crate::{NONCE, Refused, TAG, Unavailable};
use abi::{Api, Job, Manager};

/// The library's files, newest first: Debian 13, then Debian 12 and Ubuntu.
const FILES: [&CStr; 2] = [c"libIPSec_MB.so.2", c"libIPSec_MB.so.1"];

/// The loaded library.
#[derive(Debug)]
pub(crate) struct Library {
    api: Api,
    version: String,
}

impl Library {
    /// The library of this machine, if the processor has what makes it fast.
    pub(crate) fn installed() -> Result<Self, Unavailable> {
        let needed = [
            ("AVX-512", is_x86_feature_detected!("avx512f")),
            ("AVX-512 VL", is_x86_feature_detected!("avx512vl")),
            ("AVX-512 BW", is_x86_feature_detected!("avx512bw")),
            ("AVX-512 DQ", is_x86_feature_detected!("avx512dq")),
            ("AVX-512 IFMA", is_x86_feature_detected!("avx512ifma")),
        ];
        if let Some((name, _)) = needed.iter().find(|(_, there)| !there) {
            return Err(Unavailable::Processor(name));
        }
        let mut result = Err(Unavailable::Loader(String::new()));
        for file in FILES {
            result = Self::load(file);
            // A library that is there and is refused is the one to report.
            if !matches!(result, Err(Unavailable::Loader(_))) {
                break;
            }
        }
        let library = result?;
        if library.api.features() & abi::FAST == abi::FAST {
            Ok(library)
        } else {
            Err(Unavailable::Processor("AVX-512 IFMA that libIPSec_MB uses"))
        }
    }

    /// The library at a path.
    pub(crate) fn at(path: &Path) -> Result<Self, Unavailable> {
        let file = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| Unavailable::Loader("the path contains a zero byte".to_owned()))?;
        Self::load(&file)
    }

    fn load(file: &CStr) -> Result<Self, Unavailable> {
        let api = Api::load(file)?;
        if api.features() & abi::SAFE_DATA == 0 {
            return Err(Unavailable::SafeData);
        }
        let version = api.version_text();
        let library = Self { api, version };
        // Reports a failure now, and not to the first thread that has a packet.
        drop(Queue::new(&library.api)?);
        Ok(library)
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }
}

/// A key, cleared when it is dropped.
pub(crate) struct Key {
    library: &'static Library,
    bytes: Zeroizing<[u8; 32]>,
}

impl Key {
    pub(crate) fn new(library: &'static Library, key: &[u8; 32]) -> Self {
        Self { library, bytes: Zeroizing::new(*key) }
    }

    /// Seals a message; `None` if this thread has no queue, and nothing was changed.
    #[inline]
    pub(crate) fn seal(
        &self,
        nonce: &[u8; NONCE],
        aad: &[u8],
        body: &mut [u8],
    ) -> Option<Result<[u8; TAG], Refused>> {
        self.process(abi::ENCRYPT, nonce, aad, body)
    }

    /// Opens a message; `None` if this thread has no queue, and nothing was changed.
    #[inline]
    pub(crate) fn open(
        &self,
        nonce: &[u8; NONCE],
        aad: &[u8],
        body: &mut [u8],
        tag: &[u8],
    ) -> Option<Result<(), Refused>> {
        let computed = self.process(abi::DECRYPT, nonce, aad, body)?;
        // Compared as one number, so that the time does not depend on the position of a difference.
        let number = |bytes: &[u8]| bytes.try_into().map(u128::from_ne_bytes);
        let same = match (computed, number(tag)) {
            (Ok(computed), Ok(tag)) => std::hint::black_box(u128::from_ne_bytes(computed) ^ tag) == 0,
            _ => false,
        };
        if !same {
            // The library has decrypted it all the same.
            body.fill(0);
            return Some(Err(Refused));
        }
        Some(Ok(()))
    }

    fn process(
        &self,
        direction: abi::Direction,
        nonce: &[u8; NONCE],
        aad: &[u8],
        body: &mut [u8],
    ) -> Option<Result<[u8; TAG], Refused>> {
        with_queue(self.library, |queue| queue.process(&self.bytes, direction, nonce, aad, body))
    }
}

/// What a thread has of the library.
enum Local {
    /// Nothing yet.
    New,
    /// Its queue, of this library.
    Queue(&'static Library, Queue),
    /// A queue that failed, or could not be made: the thread uses ring.
    Failed,
}

thread_local! {
    static LOCAL: RefCell<Local> = const { RefCell::new(Local::New) };
}

/// Runs `job` with the queue of this thread. A job that fails ends the queue.
fn with_queue<T>(
    library: &'static Library,
    job: impl FnOnce(&Queue) -> Result<T, Refused>,
) -> Option<Result<T, Refused>> {
    LOCAL
        .try_with(|local| {
            let mut local = local.try_borrow_mut().ok()?;
            let ready = matches!(&*local, Local::Queue(of, _) if ptr::eq(*of, library));
            if !ready {
                if matches!(*local, Local::Failed) {
                    return None;
                }
                *local = match Queue::new(&library.api) {
                    Ok(queue) => Local::Queue(library, queue),
                    Err(error) => {
                        tracing::warn!(%error, "this thread encrypts with ring");
                        Local::Failed
                    }
                };
            }
            let Local::Queue(_, queue) = &*local else { return None };
            let result = job(queue);
            if result.is_err() {
                tracing::error!("libIPSec_MB failed, this thread continues with ring");
                *local = Local::Failed;
            }
            Some(result)
        })
        // The thread is ending.
        .unwrap_or(None)
}

/// A manager of the library, used by one thread.
struct Queue {
    manager: NonNull<Manager>,
    free: abi::Free,
    next: abi::Next,
    submit: abi::Submit,
}

impl Queue {
    fn new(api: &Api) -> Result<Self, Unavailable> {
        // SAFETY: the function takes flags, and returns a manager of its own or null.
        let allocated = unsafe { (api.allocate)(0) };
        let manager = NonNull::new(allocated).ok_or(Unavailable::Initialization(0))?;
        // SAFETY: the manager was just allocated by the library. A null architecture is not reported.
        unsafe { (api.initialize)(manager.as_ptr(), ptr::null_mut()) };
        // SAFETY: the library has written the fields of a manager that it allocated. `Api::load` has checked the version.
        let fields = unsafe { manager.as_ref() };
        let (error, next, submit) = (fields.error, fields.next, fields.submit);
        let (0, Some(next), Some(submit)) = (error, next, submit) else {
            // SAFETY: allocated above, and not used again.
            unsafe { (api.free)(manager.as_ptr()) };
            return Err(Unavailable::Initialization(error));
        };
        Ok(Self { manager, free: api.free, next, submit })
    }

    /// Processes one message in place, and returns the tag of its ciphertext.
    fn process(
        &self,
        key: &[u8; 32],
        direction: abi::Direction,
        nonce: &[u8; NONCE],
        aad: &[u8],
        body: &mut [u8],
    ) -> Result<[u8; TAG], Refused> {
        let mut tag = [0; TAG];
        let length = body.len() as u64;
        let place = body.as_mut_ptr();
        // SAFETY: the manager is initialized, and only this thread uses it: `Queue` is neither `Send` nor `Sync`.
        let job = unsafe { (self.next)(self.manager.as_ptr()) };
        let described = Job {
            encryption_key: key.as_ptr().cast(),
            decryption_key: key.as_ptr().cast(),
            key_length: key.len() as u64,
            source: place,
            destination: place,
            cipher_offset: 0,
            cipher_length: length,
            hash_offset: 0,
            hash_length: length,
            nonce: nonce.as_ptr(),
            nonce_length: nonce.len() as u64,
            tag: tag.as_mut_ptr(),
            tag_length: TAG as u64,
            aad: aad.as_ptr().cast(),
            aad_length: aad.len() as u64,
            context: ptr::null_mut(),
            status: 0,
            cipher: abi::CHACHA20_POLY1305_CIPHER,
            direction: direction.cipher,
            hash: abi::CHACHA20_POLY1305_HASH,
            order: direction.order,
        };
        if job.is_null() {
            return Err(Refused);
        }
        // SAFETY: `job` points to a job of the manager, whose fields begin with those of `Job`, and is aligned for it. The
        // buffers live until the end of this function; the job has ended by then, or the queue is freed unused.
        let (done, status) = unsafe {
            job.write(described);
            let done = (self.submit)(self.manager.as_ptr());
            (done, (*job).status)
        };
        if done == job && status == abi::COMPLETED { Ok(tag) } else { Err(Refused) }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: the manager is of this library, and is not used again.
        unsafe { (self.free)(self.manager.as_ptr()) };
    }
}
