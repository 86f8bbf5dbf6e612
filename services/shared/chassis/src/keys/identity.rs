//! Who makes a call, and what they may do.

use std::sync::Arc;
use std::time::SystemTime;

use emend_core::{Reason, Resource as Named, ServiceError, cut, list_names};
use tonic::{Request, Status};

use super::meter::{Meter, OverBudget, Resource, Spent};
use super::pattern::Pattern;
use super::{Key, Permission};
use crate::status::{reason_of, resource_of, status};

/// Who makes a call. Cheap to clone.
///
/// Every adapter of a service with keys takes it of its request and asks it before anything else is done. Where a server
/// has no keys everybody may do everything.
#[derive(Clone, Debug, Default)]
pub struct Identity(Option<Arc<Caller>>);

#[derive(Debug)]
struct Caller {
    key: Arc<Key>,
    meter: Arc<Meter>,
}

/// A key may not do what its holder asked for.
///
/// It says what was asked for and what the key is for, and nothing of what exists: a collection that a key may not use is
/// denied in the same words whether there is one of that name or not.
#[derive(Clone, Debug, thiserror::Error)]
#[error("key \"{key}\" may not {what}: {has}")]
pub struct Denied {
    /// The name of the key.
    pub key: String,
    /// What was asked for.
    pub what: String,
    /// What the key may do of that kind.
    pub has: String,
    /// The collection or graph that it may not use.
    pub resource: Option<Named>,
}

impl ServiceError for Denied {
    fn reason(&self) -> Reason {
        Reason::KeyNotAllowed
    }

    fn resource(&self) -> Option<Named> {
        self.resource.clone()
    }

    fn metadata(&self) -> Vec<(&'static str, String)> {
        vec![("key", self.key.clone())]
    }
}

impl From<Denied> for Status {
    fn from(denied: Denied) -> Self {
        status(&denied)
    }
}

/// What is said in place of an error that lists what exists.
#[derive(Debug, thiserror::Error)]
#[error("what was asked for does not exist among what key \"{key}\" may use")]
struct Concealed {
    key: String,
    reason: Reason,
    resource: Option<Named>,
}

impl ServiceError for Concealed {
    fn reason(&self) -> Reason {
        self.reason
    }

    fn resource(&self) -> Option<Named> {
        self.resource.clone()
    }
}

impl Identity {
    pub(super) fn new(key: Arc<Key>, meter: Arc<Meter>) -> Self {
        Self(Some(Arc::new(Caller { key, meter })))
    }

    /// Who made this request.
    pub fn of<T>(request: &Request<T>) -> Self {
        request.extensions().get::<Self>().cloned().unwrap_or_default()
    }

    /// The name of the key; `None` where the server has no keys.
    pub fn name(&self) -> Option<&str> {
        self.0.as_ref().map(|caller| caller.key.name.as_str())
    }

    /// Whether it may do something of a kind.
    ///
    /// # Errors
    /// [`Denied`].
    pub fn may(&self, permission: Permission) -> Result<(), Denied> {
        let Some(Caller { key, .. }) = self.0.as_deref() else {
            return Ok(());
        };
        if key.allow.contains(&permission) {
            return Ok(());
        }
        let what = match permission {
            Permission::Ask => "ask",
            Permission::Ingest => "ingest",
            Permission::Admin => "administer",
            Permission::GraphYaml => "bring a graph of its own",
        };
        let allowed = key.allow.iter().map(|permission| permission.name());
        Err(Denied {
            key: key.name.clone(),
            what: what.to_owned(),
            has: format!(
                "it is allowed {}, and this takes {}",
                nothing_or(list_names(allowed)),
                permission.name()
            ),
            resource: None,
        })
    }

    /// Whether it may use a collection, which need not exist.
    ///
    /// # Errors
    /// [`Denied`].
    pub fn collection(&self, name: &str) -> Result<(), Denied> {
        self.named(Named::collection(name), |key| &key.collections)
    }

    /// Whether it may walk a graph, which need not exist.
    ///
    /// # Errors
    /// [`Denied`].
    pub fn graph(&self, name: &str) -> Result<(), Denied> {
        self.named(Named::graph(name), |key| &key.graphs)
    }

    fn named(&self, resource: Named, of: impl Fn(&Key) -> &[Pattern]) -> Result<(), Denied> {
        let Some(Caller { key, .. }) = self.0.as_deref() else {
            return Ok(());
        };
        let patterns = of(key);
        let Named { kind, name } = &resource;
        if patterns.iter().any(|pattern| pattern.matches(name)) {
            return Ok(());
        }
        Err(Denied {
            key: key.name.clone(),
            what: format!("use {kind} \"{}\"", cut(name)),
            has: format!(
                "its {kind}s are {}",
                nothing_or(list_names(patterns.iter().map(Pattern::to_string)))
            ),
            resource: Some(resource),
        })
    }

    /// Whether it sees all collections and graphs. Who does not must not be told their names.
    fn sees_all(&self) -> bool {
        let all = |patterns: &[Pattern]| patterns.iter().any(Pattern::is_all);
        self.0
            .as_deref()
            .is_none_or(|Caller { key, .. }| all(&key.collections) && all(&key.graphs))
    }

    /// The status as this caller may see it: one that says that a name is unknown lists those that are known, and is
    /// replaced for who may not see all of them.
    #[must_use]
    pub fn conceal(&self, found: Status) -> Status {
        match self.name() {
            Some(key) if found.code() == tonic::Code::NotFound && !self.sees_all() => status(&Concealed {
                key: key.to_owned(),
                reason: reason_of(&found),
                resource: resource_of(&found),
            }),
            _ => found,
        }
    }

    /// What it may still spend today, where it has a budget: no more than that of each.
    ///
    /// # Errors
    /// [`OverBudget`] when nothing is left.
    pub fn left(&self) -> Result<(Option<u64>, Option<u64>), OverBudget> {
        let Some(Caller { key, meter }) = self.0.as_deref() else {
            return Ok((None, None));
        };
        let (spent, rest) = meter.today(SystemTime::now());
        let left = |most: Option<u64>, spent: u64, resource| match most.map(|most| (most, most.saturating_sub(spent))) {
            Some((most, 0)) => {
                let of = if resource == Resource::Tokens {
                    "tokens"
                } else {
                    "model calls"
                };
                Err(OverBudget {
                    key: key.name.clone(),
                    of: format!("{most} {of} of the day"),
                    resource,
                    retry_after: rest,
                })
            }
            left => Ok(left.map(|(_, left)| left)),
        };
        Ok((
            left(key.model_calls, spent.model_calls, Resource::ModelCalls)?,
            left(key.tokens, spent.tokens, Resource::Tokens)?,
        ))
    }

    /// Counts what a call has cost.
    pub fn spend(&self, spent: Spent) {
        if let Some(Caller { meter, .. }) = self.0.as_deref() {
            meter.spend(SystemTime::now(), spent);
        }
    }

    /// Counts a call.
    pub(crate) fn call(&self) -> Result<(), OverBudget> {
        let Some(Caller { key, meter }) = self.0.as_deref() else {
            return Ok(());
        };
        meter.call().map_err(|retry_after| OverBudget {
            key: key.name.clone(),
            of: meter.rate().map(|rate| format!("{rate} calls")).unwrap_or_default(),
            resource: Resource::Calls,
            retry_after,
        })
    }
}

fn nothing_or(list: String) -> String {
    if list.is_empty() { "nothing".to_owned() } else { list }
}
