//! Who may call a stand-in: with which key, and over which certificate.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tonic::service::Interceptor;
use tonic::transport::Identity;
use tonic::{Request, Status};

use crate::Server;

/// Who may call a stand-in: everybody without TLS, unless set otherwise.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The API key that calls must have.
    pub key: Option<String>,
    /// The certificate that it shows.
    pub identity: Option<Identity>,
}

/// An authority that signs certificates.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    /// An authority of this name.
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Its own certificate, as PEM.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// The identity of a server at this address.
    pub fn sign(&self, address: &str) -> Identity {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![address.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Identity::from_pem(certificate.pem(), key.serialize_pem())
    }
}

/// Lets calls through that have the key, unless the stand-in is told to fail.
#[derive(Clone)]
pub(crate) struct Guard {
    server: Server,
    key: Option<String>,
}

impl Guard {
    pub(crate) fn new(server: Server, key: Option<String>) -> Self {
        Self { server, key }
    }
}

impl Interceptor for Guard {
    fn call(&mut self, request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(key) = &self.key {
            match request.metadata().get("api-key") {
                Some(given) if given.as_bytes() == key.as_bytes() => {}
                // More than the real one says: what is passed on must not name it.
                Some(given) => return Err(Status::unauthenticated(format!("Invalid API key or JWT: {given:?}"))),
                None => {
                    return Err(Status::unauthenticated(
                        "Must provide an API key or an Authorization bearer token",
                    ));
                }
            }
        }
        match self.server.failure() {
            Some(status) => Err(status),
            None => Ok(request),
        }
    }
}
