//! How long certificates are valid.

use std::fmt;
use std::path::Path;

use jiff::{SignedDuration, Timestamp, Unit};
use rustls::pki_types::CertificateDer;
use x509_parser::parse_x509_certificate;

use super::TlsError;

/// How long before its end a certificate is spoken of: time enough to have another one signed.
const SOON: SignedDuration = SignedDuration::from_hours(14 * 24);

/// When a chain of certificates is valid: from the last beginning to the first end in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// Not before this.
    pub from: Timestamp,
    /// Not after this.
    pub until: Timestamp,
}

/// Why a certificate is to be renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// It is not valid yet, or the clock of this machine is wrong.
    Early(Timestamp),
    /// It is not valid any more.
    Expired(Timestamp),
    /// It ends soon, in this many days.
    Soon(Timestamp, i64),
}

impl Validity {
    /// That of a chain.
    ///
    /// # Errors
    /// [`TlsError::Pem`] where a certificate is no X.509.
    pub(super) fn of(option: &'static str, path: &Path, chain: &[CertificateDer<'static>]) -> Result<Self, TlsError> {
        let mut whole = Self {
            from: Timestamp::MIN,
            until: Timestamp::MAX,
        };
        for certificate in chain {
            let (_, certificate) = parse_x509_certificate(certificate).map_err(|error| TlsError::Pem {
                option,
                path: path.to_owned(),
                problem: format!("a certificate in it is no X.509 ({error}): have it signed again"),
            })?;
            let validity = certificate.validity();
            // A year that no clock shows is as good as never.
            let from = Timestamp::from_second(validity.not_before.timestamp()).unwrap_or(Timestamp::MIN);
            let until = Timestamp::from_second(validity.not_after.timestamp()).unwrap_or(Timestamp::MAX);
            whole.from = whole.from.max(from);
            whole.until = whole.until.min(until);
        }
        Ok(whole)
    }

    /// Whether it is to be renewed, and why.
    pub fn renewal(&self, now: Timestamp) -> Option<Renewal> {
        if now < self.from {
            Some(Renewal::Early(self.from))
        } else if now > self.until {
            Some(Renewal::Expired(self.until))
        } else {
            let left = self.until.duration_since(now);
            (left < SOON).then(|| Renewal::Soon(self.until, left.as_hours() / 24))
        }
    }

    /// Says in the log what [`Validity::renewal`] finds.
    pub(super) fn log(&self, option: &'static str, path: &Path) {
        if let Some(renewal) = self.renewal(Timestamp::now()) {
            tracing::warn!(option, file = %path.display(), "{renewal}");
        }
    }
}

impl fmt::Display for Renewal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let day = |at: &Timestamp| at.round(Unit::Second).unwrap_or(*at);
        match self {
            Self::Early(from) => write!(
                f,
                "the certificate is valid from {}: check this machine's clock",
                day(from)
            ),
            Self::Expired(until) => write!(f, "the certificate ended at {}: no peer trusts it any more", day(until)),
            Self::Soon(until, 0) => write!(f, "the certificate ends at {}, within a day", day(until)),
            Self::Soon(until, days) => write!(f, "the certificate ends at {}, in {days} days", day(until)),
        }
    }
}

#[cfg(test)]
mod tests;
