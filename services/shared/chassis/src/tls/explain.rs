//! What a failed TLS connection means, in words that say what to do.

use std::error::Error;
use std::io;

use rustls::{AlertDescription, CertificateError, InvalidMessage};

/// Whether what a server said instead of HTTP/2 is a TLS alert: content type 21, then version 3 (RFC 8446, section 5.1).
pub(crate) fn is_alert(said: &[u8]) -> bool {
    matches!(said, [21, 3, ..])
}

/// What is wrong with a connection over TLS, as its client saw it; `None` where TLS has nothing to do with it.
pub(crate) fn explain(error: &io::Error) -> Option<String> {
    let mut cause: Option<&(dyn Error + 'static)> = error.get_ref().map(|inner| inner as _);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<rustls::Error>() {
            return Some(of_rustls(error));
        }
        cause = error.source();
    }
    None
}

fn of_rustls(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "it does not speak TLS: write http:// in place of https://, or start it with --tls-cert".to_owned()
        }
        rustls::Error::InvalidCertificate(error) => of_certificate(error),
        rustls::Error::AlertReceived(alert) => of_alert(*alert),
        rustls::Error::NoApplicationProtocol => no_http2(),
        error => format!("TLS failed ({error})"),
    }
}

fn of_certificate(error: &CertificateError) -> String {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired: renew the file of its --tls-cert".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet: look at the clocks of both machines".to_owned()
        }
        // The latter where another authority has the same name.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "its certificate is signed by no authority that is trusted here: give its authority with --ca".to_owned()
        }
        CertificateError::NotValidForNameContext { expected, presented } => format!(
            "its certificate is for {}, not for {}: use an address that it names, or give it a certificate for this one",
            emend_core::cut(&emend_core::list_names(presented.iter().map(|name| plain(name)))),
            expected.to_str()
        ),
        CertificateError::NotValidForName => {
            "its certificate is for another name: use an address that it names".to_owned()
        }
        CertificateError::Revoked => "its certificate is revoked".to_owned(),
        error => format!("its certificate cannot be accepted ({error})"),
    }
}

/// `grader` of `DnsName("grader")`, as rustls shows a name.
fn plain(name: &str) -> &str {
    let inner = name.split_once('(').map_or(name, |(_, inner)| inner);
    inner.trim_matches(['"', ')'])
}

fn of_alert(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateRequired => {
            "it wants a certificate of the client: give one with --client-cert and --client-key".to_owned()
        }
        AlertDescription::UnknownCA
        | AlertDescription::BadCertificate
        | AlertDescription::AccessDenied
        | AlertDescription::DecryptError => {
            "it does not accept the client's certificate, which is signed by no authority of its --tls-client-ca: give \
             another with --client-cert"
                .to_owned()
        }
        AlertDescription::CertificateExpired => {
            "it does not accept the client's certificate, which has expired: renew the file of --client-cert".to_owned()
        }
        AlertDescription::NoApplicationProtocol => no_http2(),
        alert => format!("it refused TLS ({alert:?})"),
    }
}

fn no_http2() -> String {
    "it speaks TLS but not HTTP/2, which gRPC needs".to_owned()
}
