//! A certificate authority of one's own, and TLS in front of a server that has none.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// An authority that no system trusts.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// TLS on a port of its own; everything within goes to the server behind it. It ends when dropped.
pub struct Front {
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Front {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Authority {
    pub fn new() -> Authority {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).expect("it signs itself").pem();
        Authority { issuer: Issuer::new(params, key), pem }
    }

    /// Writes its certificate, as a `ca_file`.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        std::fs::write(path, &self.pem)
    }

    /// A server certificate for this host name or address, in front of `back`.
    pub async fn front(&self, host: &str, back: SocketAddr) -> io::Result<Front> {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![host.to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &self.issuer).expect("it is signed");
        let secret = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("its versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], secret)
            .expect("the key fits");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                connections.spawn(async move {
                    // A client that does not trust us leaves here, and the server behind hears nothing of it.
                    let mut inside = acceptor.accept(stream).await?;
                    let mut server = TcpStream::connect(back).await?;
                    tokio::io::copy_bidirectional(&mut inside, &mut server).await
                });
            }
        });
        Ok(Front { address, task })
    }
}

impl Default for Authority {
    fn default() -> Authority {
        Authority::new()
    }
}
