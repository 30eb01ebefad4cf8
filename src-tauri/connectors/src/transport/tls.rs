//! Reaching a server: TCP, TLS, and whom to trust.

use crate::providers::mailbox::config::{Endpoint, Security};
use countersign_domain::json::FieldError;
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Longest time for TCP and TLS together to come up.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a server could not be reached. Nothing was said to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreached {
    /// No such name, nobody listens, no network.
    Offline(String),
    Timeout,
    /// Certificate, protocol version, or not TLS at all.
    Tls(String),
}

impl Unreached {
    /// For people; without addresses.
    pub fn text(&self) -> String {
        match self {
            Unreached::Offline(why) => format!("the server cannot be reached: {why}"),
            Unreached::Timeout => format!("the server did not answer within {} s", CONNECT_TIMEOUT.as_secs()),
            Unreached::Tls(why) => format!("no trustworthy encrypted connection: {why}"),
        }
    }
}

/// Whom to trust: the system's authorities, or, where a `ca_file` is given, exactly those in it.
#[derive(Clone)]
pub struct Trust {
    own: Option<Arc<ClientConfig>>,
    system: Arc<OnceLock<Result<Arc<ClientConfig>, String>>>,
}

impl Trust {
    /// Reads `ca_file`, relative to `base_dir`.
    pub fn load(ca_file: Option<&str>, base_dir: &Path) -> Result<Trust, FieldError> {
        let own = ca_file.map(|name| {
            let wrong = |reason: String| FieldError::new("ca_file", reason);
            client_config(roots_in(&base_dir.join(name)).map_err(wrong)?).map_err(wrong)
        });
        Ok(Trust { own: own.transpose()?, system: Arc::default() })
    }

    /// The system's authorities and those in `ca_file`, for addresses that are not one destination's.
    ///
    /// # Errors
    /// Why the file cannot be used.
    pub fn beside_the_systems(ca_file: &Path) -> Result<Trust, String> {
        let mut roots = roots_in(ca_file)?;
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Ok(Trust { own: Some(client_config(roots)?), system: Arc::default() })
    }

    fn config(&self) -> Result<Arc<ClientConfig>, Unreached> {
        if let Some(own) = &self.own {
            return Ok(own.clone());
        }
        // Reading the system's store takes tens of milliseconds; a plain or private server never needs it.
        let system = self.system.get_or_init(|| {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err("this system has no certificate authorities; name a ca_file".into());
            }
            client_config(roots)
        });
        system.clone().map_err(Unreached::Tls)
    }
}

/// The certificates of a PEM file, of which there must be one at least.
fn roots_in(path: &Path) -> Result<RootCertStore, String> {
    let file = File::open(path).map_err(|e| format!("cannot be read: {e}"))?;
    let mut roots = RootCertStore::empty();
    for cert in rustls_pemfile::certs(&mut BufReader::new(file)) {
        let cert = cert.map_err(|e| format!("is not a PEM file: {e}"))?;
        roots.add(cert).map_err(|e| format!("holds an unusable certificate: {e}"))?;
    }
    if roots.is_empty() { Err("holds no certificate".into()) } else { Ok(roots) }
}

fn client_config(roots: RootCertStore) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|e| e.to_string())?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

/// A server as it is reached today.
#[derive(Clone)]
pub struct Server {
    pub endpoint: Endpoint,
    /// Where it really listens; differs from the endpoint's only for the embedded sandbox.
    pub port: u16,
    pub trust: Trust,
}

impl Server {
    /// One fresh connection, encrypted already if the endpoint says so.
    pub async fn connect(&self) -> Result<Stream, Unreached> {
        let tcp = async {
            let stream = TcpStream::connect((self.endpoint.host.as_str(), self.port)).await?;
            // A command is one small write whose reply is waited for.
            stream.set_nodelay(true)?;
            Ok::<_, io::Error>(stream)
        };
        let tcp = timeout(CONNECT_TIMEOUT, tcp)
            .await
            .map_err(|_| Unreached::Timeout)?
            .map_err(|e| Unreached::Offline(reason(&e)))?;
        match self.endpoint.security {
            Security::Tls => self.encrypt(Stream::Plain(tcp)).await,
            Security::StartTls | Security::Plain => Ok(Stream::Plain(tcp)),
        }
    }

    /// Wraps a plain connection. Fails for one that is encrypted already.
    pub async fn encrypt(&self, stream: Stream) -> Result<Stream, Unreached> {
        let Stream::Plain(tcp) = stream else {
            return Err(Unreached::Tls("already encrypted".into()));
        };
        let name = ServerName::try_from(self.endpoint.host.clone())
            .map_err(|_| Unreached::Tls("the host name cannot be checked against a certificate".into()))?;
        let handshake = TlsConnector::from(self.trust.config()?).connect(name, tcp);
        match timeout(CONNECT_TIMEOUT, handshake).await {
            Err(_) => Err(Unreached::Timeout),
            Ok(Err(e)) => Err(Unreached::Tls(tls_reason(&e))),
            Ok(Ok(tls)) => Ok(Stream::Tls(Box::new(tls))),
        }
    }
}

/// A system error without the address that some systems put in.
fn reason(e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::ConnectionRefused => "nothing listens there".into(),
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => "no way to it on the network".into(),
        io::ErrorKind::TimedOut => "no answer".into(),
        io::ErrorKind::PermissionDenied => "this system does not allow it".into(),
        _ if e.raw_os_error().is_none() => "its name is not known".into(),
        kind => kind.to_string(),
    }
}

fn tls_reason(e: &io::Error) -> String {
    match e.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(why)) => format!("its certificate {}", certificate_reason(why)),
        Some(rustls::Error::InvalidMessage(_)) => "it does not speak TLS on this port".into(),
        Some(other) => other.to_string(),
        None if e.kind() == io::ErrorKind::UnexpectedEof => "it hung up during the handshake".into(),
        None => e.kind().to_string(),
    }
}

/// What is wrong with a certificate, without the names in it.
fn certificate_reason(why: &CertificateError) -> &'static str {
    match why {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "is not signed by an authority that is trusted here"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "is for another server name"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "is not valid yet; look at this computer's clock"
        }
        CertificateError::Revoked => "was revoked",
        _ => "does not hold",
    }
}

/// A connection, encrypted or not.
#[derive(Debug)]
pub enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(s) => Pin::new(s).poll_read(cx, buf),
            Stream::Tls(s) => Pin::new(s).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(s) => Pin::new(s).poll_write(cx, buf),
            Stream::Tls(s) => Pin::new(s).poll_write(cx, buf),
        }
    }
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(s) => Pin::new(s).poll_flush(cx),
            Stream::Tls(s) => Pin::new(s).poll_flush(cx),
        }
    }
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(s) => Pin::new(s).poll_shutdown(cx),
            Stream::Tls(s) => Pin::new(s).poll_shutdown(cx),
        }
    }
}
