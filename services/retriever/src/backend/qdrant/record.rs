//! The record of a document: the one point that says which version of it is visible.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::settings::Timing;
use crate::backend::{Fingerprint, ListedDocument, NewDocument, StoredDocument};

/// A version of a document: a random number that its writer drew. The points of a version carry it, and no other points
/// ever do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Version(pub(super) Uuid);

impl Version {
    /// A number that nobody else draws.
    pub(super) fn draw() -> Self {
        Self(Uuid::new_v4())
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<String> for Version {
    type Error = uuid::Error;

    fn try_from(text: String) -> Result<Self, uuid::Error> {
        Uuid::parse_str(&text).map(Self)
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.0.to_string()
    }
}

/// What is known of a document, in all its versions. Every version that has points, or may yet get some, is named here, but
/// for those of a writer that was taken for dead and was not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The document's identifier.
    pub(super) id: String,
    /// The visible version.
    pub(super) current: Option<Current>,
    /// Versions that are being written.
    pub(super) pending: Vec<Entry>,
    /// Versions that were visible until `since`.
    pub(super) replaced: Vec<Entry>,
    /// Versions that were never visible and never will be.
    pub(super) abandoned: Vec<Entry>,
}

/// The visible version of a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Current {
    pub(super) version: Version,
    /// When it became visible, in milliseconds since 1970 by its writer's clock.
    pub(super) published: u64,
    pub(super) fingerprint: Fingerprint,
    pub(super) title: String,
    pub(super) source: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) owner: String,
    pub(super) metadata: BTreeMap<String, String>,
    pub(super) sections: u32,
    pub(super) passages: u32,
}

/// A version that is not visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) version: Version,
    /// Since when, in milliseconds since 1970 by the clock of whoever wrote this.
    pub(super) since: u64,
}

impl Entry {
    pub(super) fn now(version: Version) -> Self {
        Self { version, since: now() }
    }

    /// Whether this is at least so old, by the clock here.
    pub(super) fn is_older_than(self, age: Duration) -> bool {
        elapsed(self.since) >= age
    }
}

impl Record {
    pub(super) fn of(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            ..Self::default()
        }
    }

    pub(super) fn version(&self) -> Option<Version> {
        self.current.as_ref().map(|current| current.version)
    }

    /// The versions that are not visible.
    pub(super) fn invisible(&self) -> impl Iterator<Item = &Entry> {
        self.pending.iter().chain(&self.replaced).chain(&self.abandoned)
    }

    /// Whether there is a version that is not visible.
    pub(super) fn is_unsettled(&self) -> bool {
        self.invisible().next().is_some()
    }

    pub(super) fn is_pending(&self, version: Version) -> bool {
        self.pending.iter().any(|entry| entry.version == version)
    }

    pub(super) fn was_replaced(&self, version: Version) -> bool {
        self.replaced.iter().any(|entry| entry.version == version)
    }

    /// Gives up the versions of writers that take too long. They find out before they publish.
    pub(super) fn abandon_stale(&mut self, timing: &Timing) {
        let limit = timing.writing + timing.skew;
        let (stale, alive) = self.pending.iter().partition(|entry| entry.is_older_than(limit));
        self.pending = alive;
        let stale: Vec<Entry> = stale;
        self.abandoned
            .extend(stale.into_iter().map(|entry| Entry::now(entry.version)));
    }

    /// Gives up one version.
    pub(super) fn abandon(&mut self, version: Version) {
        if self.is_pending(version) {
            self.pending.retain(|entry| entry.version != version);
            self.abandoned.push(Entry::now(version));
        }
    }

    /// The versions whose points can be removed: no search that still needs them can be under way.
    pub(super) fn removable(&self, timing: &Timing) -> Vec<Version> {
        let age = timing.grace + timing.skew;
        let replaced = self.replaced.iter().filter(|entry| entry.is_older_than(age));
        replaced.chain(&self.abandoned).map(|entry| entry.version).collect()
    }

    /// Forgets versions whose points are removed.
    pub(super) fn forget(&mut self, removed: &[Version]) {
        self.replaced.retain(|entry| !removed.contains(&entry.version));
        self.abandoned.retain(|entry| !removed.contains(&entry.version));
    }

    /// Makes another version visible, or none.
    pub(super) fn publish(&mut self, current: Option<Current>) {
        if let Some(current) = &current {
            self.pending.retain(|entry| entry.version != current.version);
        }
        if let Some(old) = std::mem::replace(&mut self.current, current) {
            self.replaced.push(Entry::now(old.version));
        }
    }
}

impl Current {
    /// What becomes visible of a document.
    pub(super) fn of(document: &NewDocument, version: Version, sections: u32, passages: u32) -> Self {
        Self {
            version,
            published: now(),
            fingerprint: document.fingerprint,
            title: document.title.clone(),
            source: document.source.clone(),
            owner: document.owner.clone(),
            metadata: document.metadata.clone(),
            sections,
            passages,
        }
    }

    /// Whether it became visible so long ago that every search of now began later, however the clocks differ.
    pub(super) fn is_settled(&self, timing: &Timing) -> bool {
        elapsed(self.published) > timing.grace + timing.skew
    }

    /// The document as a list has it.
    pub(super) fn listed(self, id: &str) -> ListedDocument {
        ListedDocument {
            id: id.to_owned(),
            title: self.title,
            source: self.source,
            owner: self.owner,
            passages: self.passages,
        }
    }
}

impl From<&Current> for StoredDocument {
    fn from(current: &Current) -> Self {
        Self {
            fingerprint: current.fingerprint,
            passages: current.passages,
        }
    }
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn elapsed(since: u64) -> Duration {
    Duration::from_millis(now().saturating_sub(since))
}
