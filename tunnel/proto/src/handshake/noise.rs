//! Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s by `snow` (whitepaper sections 5.4.2 to 5.4.5).
//!
//! `snow` gets its Diffie-Hellman and its randomness from here: ephemeral keys come from the engine's generator,
//! private keys are zeroised, a shared secret of zero is refused, and what depends on static keys alone is not
//! computed anew for each handshake. Of the two secrets that the static key takes part in, the pattern has `ss`
//! first for an initiator (e, es, s, ss | e, ee, se, psk) and second for a responder.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::Mutex;
use snow::params::{CipherChoice, DHChoice, HashChoice, NoiseParams};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, Error, HandshakeState};
use warren_wire::{PresharedKey, PrivateKey, PublicKey};
use x25519_dalek::{PublicKey as Point, StaticSecret};
use zeroize::{Zeroize, Zeroizing};

use super::known::SharedKnown;
use super::message::{INITIATION_NOISE, RESPONSE_NOISE};
use super::random::Rng;
use super::stamp::Stamp;

const PATTERN: &str = "Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s";
const PROLOGUE: &[u8] = b"WireGuard v1 zx2c4 Jason@zx2c4.com";
/// Position of the preshared key: after the second message.
const PSK_AT: usize = 2;

const SS_OF_INITIATOR: u8 = 0;
const SS_OF_RESPONDER: u8 = 1;

/// Keys of the two directions: of the initiator, of the responder.
pub(crate) struct Keys {
    pub(crate) initiator: Zeroizing<[u8; 32]>,
    pub(crate) responder: Zeroizing<[u8; 32]>,
}

/// The static key with what derives from it, and the parsed pattern.
#[derive(Clone)]
pub(crate) struct Identity {
    shared: Arc<Shared>,
    params: NoiseParams,
}

struct Shared {
    private: PrivateKey,
    public: PublicKey,
    known: SharedKnown,
}

impl Identity {
    pub(crate) fn new(private: PrivateKey, known: SharedKnown) -> Self {
        let public = private.public();
        let Ok(params) = PATTERN.parse() else { unreachable!("the pattern is one that snow knows") };
        Self { shared: Arc::new(Shared { private, public, known }), params }
    }

    pub(crate) fn known(&self) -> &SharedKnown {
        &self.shared.known
    }

    pub(crate) fn public(&self) -> PublicKey {
        self.shared.public
    }

    /// `ss` is the place of the static-static secret among those of the static key.
    fn builder(&self, rng: Rng, ss: u8) -> Builder<'_> {
        let resolver = Resolver { shared: Arc::clone(&self.shared), ss, rng: Mutex::new(Some(rng)) };
        Builder::with_resolver(self.params.clone(), Box::new(resolver))
    }

    /// Writes the Noise part of an initiation to `remote` into `message`.
    pub(crate) fn initiate(
        &self,
        rng: Rng,
        remote: &PublicKey,
        stamp: Stamp,
        message: &mut [u8],
    ) -> Result<HandshakeState, Error> {
        let mut state = self
            .builder(rng, SS_OF_INITIATOR)
            .prologue(PROLOGUE)?
            .local_private_key(self.shared.private.as_bytes())?
            .remote_public_key(remote.as_bytes())?
            .build_initiator()?;
        state.write_message(&stamp.0, &mut message[INITIATION_NOISE])?;
        Ok(state)
    }

    /// Reads the Noise part of an initiation: who sends it, and its stamp.
    pub(crate) fn read_initiation(
        &self,
        rng: Rng,
        message: &[u8],
    ) -> Result<(HandshakeState, PublicKey, Stamp), Error> {
        let mut state = self
            .builder(rng, SS_OF_RESPONDER)
            .prologue(PROLOGUE)?
            .local_private_key(self.shared.private.as_bytes())?
            .build_responder()?;
        let mut stamp = [0; 12];
        state.read_message(&message[INITIATION_NOISE], &mut stamp)?;
        let remote = state.get_remote_static().and_then(|key| <[u8; 32]>::try_from(key).ok());
        let remote = remote.map(PublicKey::from_bytes).ok_or(Error::Input)?;
        Ok((state, remote, Stamp(stamp)))
    }
}

/// Writes the Noise part of the response and derives the keys.
pub(crate) fn respond(
    mut state: HandshakeState,
    psk: Option<&PresharedKey>,
    message: &mut [u8],
) -> Result<Keys, Error> {
    set_psk(&mut state, psk)?;
    state.write_message(&[], &mut message[RESPONSE_NOISE])?;
    Ok(keys(&mut state))
}

/// Reads the Noise part of a response and derives the keys. After an error the state may be used again: a forged
/// response must not end a handshake.
pub(crate) fn read_response(
    state: &mut HandshakeState,
    psk: Option<&PresharedKey>,
    message: &[u8],
) -> Result<Keys, Error> {
    set_psk(state, psk)?;
    state.read_message(&message[RESPONSE_NOISE], &mut [])?;
    Ok(keys(state))
}

fn set_psk(state: &mut HandshakeState, psk: Option<&PresharedKey>) -> Result<(), Error> {
    state.set_psk(PSK_AT, psk.map_or(&[0; 32], PresharedKey::as_bytes).as_slice())
}

fn keys(state: &mut HandshakeState) -> Keys {
    let (mut initiator, mut responder) = state.dangerously_get_raw_split();
    let keys = Keys { initiator: Zeroizing::new(initiator), responder: Zeroizing::new(responder) };
    initiator.zeroize();
    responder.zeroize();
    keys
}

/// Gives `snow` its parts. Randomness is taken out once: a handshake has one generator.
struct Resolver {
    shared: Arc<Shared>,
    ss: u8,
    rng: Mutex<Option<Rng>>,
}

impl CryptoResolver for Resolver {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        self.rng.lock().take().map(|rng| Box::new(rng) as Box<dyn Random>)
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        match choice {
            DHChoice::Curve25519 => Some(Box::new(X25519 {
                shared: Arc::clone(&self.shared),
                private: None,
                public: [0; 32],
                until_ss: AtomicU8::new(NEVER),
                ss: self.ss,
            })),
            _ => None,
        }
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}

/// An ephemeral key has no static-static secret.
const NEVER: u8 = u8::MAX;

/// One key pair, static or ephemeral.
struct X25519 {
    shared: Arc<Shared>,
    private: Option<StaticSecret>,
    public: [u8; 32],
    /// Secrets to compute before the static-static one.
    until_ss: AtomicU8,
    ss: u8,
}

impl X25519 {
    fn take(&mut self, private: [u8; 32]) {
        let secret = StaticSecret::from(private);
        self.public = Point::from(&secret).to_bytes();
        self.private = Some(secret);
    }
}

impl Dh for X25519 {
    fn name(&self) -> &'static str {
        "25519"
    }

    fn pub_len(&self) -> usize {
        32
    }

    fn priv_len(&self) -> usize {
        32
    }

    fn set(&mut self, private: &[u8]) {
        let Ok(mut bytes) = <[u8; 32]>::try_from(private) else { return };
        if PrivateKey::from_bytes(bytes) == self.shared.private {
            self.private = Some(StaticSecret::from(bytes));
            self.public = *self.shared.public.as_bytes();
            self.until_ss = AtomicU8::new(self.ss);
        } else {
            self.take(bytes);
        }
        bytes.zeroize();
    }

    fn generate(&mut self, rng: &mut dyn Random) -> Result<(), Error> {
        let mut bytes = Zeroizing::new([0; 32]);
        rng.try_fill_bytes(&mut bytes[..])?;
        self.take(*bytes);
        Ok(())
    }

    fn pubkey(&self) -> &[u8] {
        &self.public
    }

    fn privkey(&self) -> &[u8] {
        self.private.as_ref().map_or(&[], |private| private.as_bytes())
    }

    fn dh(&self, public: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let public = public.get(..32).and_then(|key| <[u8; 32]>::try_from(key).ok()).ok_or(Error::Dh)?;
        let out = out.get_mut(..32).ok_or(Error::Dh)?;
        let compute = || {
            let secret = self.private.as_ref()?.diffie_hellman(&Point::from(public));
            secret.was_contributory().then(|| Zeroizing::new(secret.to_bytes()))
        };
        match self.until_ss.load(Ordering::Relaxed) {
            0 => {
                let mut known = self.shared.known.lock();
                let secret = known.shared(&PublicKey::from_bytes(public), compute).ok_or(Error::Dh)?;
                out.copy_from_slice(secret);
                self.until_ss.store(NEVER, Ordering::Relaxed);
            }
            until => {
                out.copy_from_slice(&compute().ok_or(Error::Dh)?[..]);
                if until != NEVER {
                    self.until_ss.store(until - 1, Ordering::Relaxed);
                }
            }
        }
        Ok(())
    }
}
