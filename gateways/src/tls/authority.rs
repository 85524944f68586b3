//! Makes certificates.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SerialNumber,
};
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::{CertifiedKey, SigningKey};

use crate::entropy;

/// Number of certificates that are remembered; beyond it all are forgotten, and made again.
const REMEMBERED: usize = 256;

/// The certificate authority of one sandbox.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// The key of all certificates: making one takes longer than signing.
    key: KeyPair,
    signer: Arc<dyn SigningKey>,
    /// The names of a certificate for clients that do not say whom they want.
    fallback: Vec<String>,
    made: Mutex<HashMap<String, Arc<CertifiedKey>>>,
}

impl Authority {
    /// A new authority. `fallback` are the names for clients that name none.
    pub fn new(fallback: Vec<String>) -> io::Result<Arc<Self>> {
        let mut own = CertificateParams::default();
        own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        own.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        own.distinguished_name.push(DnType::CommonName, "Touchstone sandbox");
        own.serial_number = Some(serial());
        let issuer = CertifiedIssuer::self_signed(own, KeyPair::generate().map_err(io::Error::other)?);
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let signer = ring::sign::any_ecdsa_type(&private).map_err(io::Error::other)?;
        let issuer = issuer.map_err(io::Error::other)?;
        Ok(Arc::new(Self { issuer, key, signer, fallback, made: Mutex::default() }))
    }

    /// Its own certificate, which is to be trusted.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// The certificate of a name.
    fn certificate(&self, name: Option<&str>) -> Option<Arc<CertifiedKey>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let place = name.unwrap_or_default();
        if let Some(certificate) = made.get(place) {
            return Some(Arc::clone(certificate));
        }
        let names = name.map_or_else(|| self.fallback.clone(), |name| vec![name.to_owned()]);
        let certificate = Arc::new(self.make(names)?);
        if made.len() >= REMEMBERED {
            made.clear();
        }
        made.insert(place.to_owned(), Arc::clone(&certificate));
        Some(certificate)
    }

    fn make(&self, names: Vec<String>) -> Option<CertifiedKey> {
        let mut params = CertificateParams::new(names).ok()?;
        params.distinguished_name.push(DnType::CommonName, "Touchstone service");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        params.serial_number = Some(serial());
        let certificate = params.signed_by(&self.key, &self.issuer).ok()?;
        let chain = vec![certificate.der().clone(), self.issuer.der().clone()];
        Some(CertifiedKey::new(chain, Arc::clone(&self.signer)))
    }
}

/// A serial number, positive and of its own: clients refuse an authority that uses one twice.
fn serial() -> SerialNumber {
    let mut bytes = *entropy::uuid().as_bytes();
    bytes[0] &= 0x7f;
    SerialNumber::from_slice(&bytes)
}

impl ResolvesServerCert for Authority {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.certificate(hello.server_name())
    }
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Keys are not shown.
        formatter.debug_struct("Authority").field("fallback", &self.fallback).finish_non_exhaustive()
    }
}
