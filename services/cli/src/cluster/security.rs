//! Who may call the services of this process, and how they are called.

use std::net::SocketAddr;

use anyhow::{Result, anyhow};
use clap::{CommandFactory, FromArgMatches};
use emend_chassis::{
    ApiKey, ClientTls, ServerTlsOptions, ServiceOptions, UpstreamOptions, config::from_environment, keys::new_key,
    refuse_exposed,
};
use emend_core::Secret;

use super::{Component, Plan};
use crate::settings;

/// Who may call the services of a cluster, and how they are called.
pub(super) struct Security {
    /// Whether others call them.
    public: bool,
    encrypted: bool,
    /// With which they call each other, where they want keys; made at the start and known to nobody else.
    pub(super) key: Option<Secret>,
    /// How this process calls them.
    pub(super) upstream: UpstreamOptions,
}

impl Security {
    /// What the environment says for services that others call; services of this process alone are on loopback addresses
    /// that nobody is told.
    pub(super) fn of(plan: &Plan) -> Result<Self> {
        let mut security = Self {
            public: plan.public,
            encrypted: false,
            key: None,
            upstream: UpstreamOptions::default(),
        };
        if !plan.public {
            return Ok(security);
        }
        let options: emend_orchestrator::Options = environment(Component::Orchestrator)?;
        refuse_exposed(&options.service, SocketAddr::new(plan.host, plan.base_port))?;
        if options.service.tls.encrypts() {
            security.encrypted = true;
            security.upstream.tls = Some(ClientTls::load(&options.client_tls)?);
        }
        if options.service.keys_file.is_some() {
            let (key, _) = new_key()?;
            security.upstream.api_key = Some(ApiKey::fixed(&key)?);
            // The services are on this machine, whatever the address is that they listen on.
            security.upstream.insecure = true;
            security.key = Some(key);
        }
        Ok(security)
    }

    /// The URL of a service that listens here. A certificate has a name: where services listen on all addresses, theirs is
    /// `localhost`.
    pub(super) fn url(&self, address: SocketAddr) -> String {
        match (self.encrypted, address.ip().is_unspecified()) {
            (false, _) => format!("http://{address}"),
            (true, false) => format!("https://{address}"),
            (true, true) => format!("https://localhost:{}", address.port()),
        }
    }

    /// The options that a service has from the environment and the configuration file.
    pub(super) fn own<O>(&self, component: Component) -> Result<O>
    where
        O: CommandFactory + FromArgMatches + AsMut<ServiceOptions>,
    {
        let mut options: O = environment(component)?;
        let service = options.as_mut();
        if self.public {
            service.own_key.clone_from(&self.key);
        } else {
            service.tls = ServerTlsOptions::default();
            service.keys_file = None;
        }
        Ok(options)
    }
}

pub(crate) fn environment<O: CommandFactory + FromArgMatches>(component: Component) -> Result<O> {
    from_environment(settings::in_use(), &settings::key).map_err(|error| {
        let error = error.to_string();
        let error = error
            .split("\n\n")
            .next()
            .unwrap_or_default()
            .trim_start_matches("error: ");
        anyhow!("a setting of the {}: {error}", component.name())
    })
}
