//! `emend health`: asks a service whether it serves.

use std::process::ExitCode;

use anyhow::{Result, bail};
use emend_chassis::{ClientTls, Upstream, UpstreamOptions, request};
use emend_core::{Deadline, without_secrets};
use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

use crate::{args::HealthOptions, terminal};

/// Asks once, and says what it was told. The exit status is 0 for SERVING alone.
///
/// # Errors
/// The address is none, nobody answers there in time, or the server has no such service.
pub async fn run(options: HealthOptions) -> Result<ExitCode> {
    let url = if options.address.contains("://") {
        options.address
    } else {
        format!("http://{}", options.address)
    };
    // Health is open: no key is sent.
    let upstream = UpstreamOptions {
        tls: ClientTls::for_urls([url.as_str()], &options.tls)?,
        ..UpstreamOptions::default()
    };
    let mut health = HealthClient::new(Upstream::with_options(&url, upstream)?.channel());
    let url = without_secrets(&url);
    let service = options.service.unwrap_or_default();
    let asked = HealthCheckRequest {
        service: service.clone(),
    };
    let answer = health.check(request(asked, Deadline::after(options.timeout))).await;
    let answer = match answer {
        Ok(answer) => answer.into_inner(),
        Err(status) if status.code() == Code::NotFound => {
            bail!("{url} has no service `{service}`: without --service all of it is asked");
        }
        Err(status) => bail!("{url} does not say whether it serves: {}", status.message()),
    };
    terminal::println(answer.status().as_str_name())?;
    Ok(ExitCode::from(u8::from(answer.status() != ServingStatus::Serving)))
}
