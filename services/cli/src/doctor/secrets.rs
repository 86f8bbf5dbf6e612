//! Keys and certificates: of the port, of callers, and the files that hold secrets.

use std::{net::SocketAddr, path::Path};

use emend_chassis::{ClientTls, ClientTlsOptions, Renewal, ServerTls, Validity, keys::KeysFile, refuse_exposed};
use emend_core::{Secret, error_chain};
use jiff::Timestamp;

use super::Finding;
use crate::{
    args::UpOptions,
    cluster::{Component, security::environment},
};

const CHECK: &str = "keys and TLS";

/// What the port of `emend up` shows and asks for.
pub(super) async fn server(up: &UpOptions) -> Vec<Finding> {
    let options = match environment::<emend_orchestrator::Options>(Component::Orchestrator) {
        Ok(options) => options,
        Err(error) => return vec![Finding::failed(CHECK, error)],
    };
    let service = &options.service;
    let mut found = Vec::new();
    if let Err(error) = refuse_exposed(service, SocketAddr::new(up.host, up.base_port)) {
        found.push(Finding::failed(CHECK, error));
    }
    match ServerTls::load(&service.tls) {
        Ok(None) => found.push(Finding::ok(CHECK, "ports are not encrypted; they are for this machine")),
        Ok(Some(tls)) => found.push(certificate("the ports", tls.validity())),
        Err(error) => found.push(Finding::error(
            CHECK,
            error_chain(&error),
            "check --tls-cert, --tls-key, --tls-client-ca",
        )),
    }
    if options.client_tls != ClientTlsOptions::default() {
        match ClientTls::load(&options.client_tls) {
            Ok(tls) => found.extend(tls.validity().map(|validity| certificate("calls", validity))),
            Err(error) => found.push(Finding::error(
                CHECK,
                error_chain(&error),
                "check --ca, --client-cert, --client-key",
            )),
        }
    }
    if let Some(file) = &service.keys_file {
        found.push(match KeysFile::read(file) {
            Ok(keys) if keys.keys.is_empty() => Finding::error(
                CHECK,
                format_args!("{} has no key: nobody may call", file.display()),
                "`emend keys add NAME` adds one",
            ),
            Ok(keys) => Finding::ok(CHECK, format_args!("{} keys in {}", keys.keys.len(), file.display())),
            Err(error) => Finding::error(CHECK, error_chain(&error), "`emend keys` writes such a file"),
        });
    }
    let local = &up.local;
    let files = [
        &local.chat.llm_api_key_file,
        &local.chat.llm_fallback_api_key_file,
        &local.embedder.embedder_api_key_file,
        &local.web.tavily_api_key_file,
        &local.web.brave_api_key_file,
    ];
    found.extend(files.into_iter().flatten().filter_map(|file| secret(file)));
    found
}

/// How long the certificate of `what` is valid.
pub(super) fn certificate(what: &str, validity: Validity) -> Finding {
    const ADVICE: &str =
        "have another one signed and put it in the place of the file: it is read again without a restart";
    match validity.renewal(Timestamp::now()) {
        None => {
            let day = validity.until.strftime("%Y-%m-%d");
            Finding::ok(
                CHECK,
                format_args!("certificate and key of {what} go together, until {day}"),
            )
        }
        Some(renewal @ Renewal::Soon(..)) => Finding::warning(CHECK, format_args!("{what}: {renewal}"), ADVICE),
        Some(renewal) => Finding::error(CHECK, format_args!("{what}: {renewal}"), ADVICE),
    }
}

/// What is wrong with a file that holds a secret.
fn secret(file: &Path) -> Option<Finding> {
    let name = file.display();
    if let Err(error) = Secret::read(file) {
        return Some(Finding::error(
            CHECK,
            format_args!("{name}: {error}"),
            "write the key into it, and nothing else",
        ));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;

        let mode = std::fs::metadata(file).ok()?.permissions().mode();
        if mode & 0o077 != 0 {
            let advice = format!("chmod 600 {name}");
            return Some(Finding::warning(
                CHECK,
                format_args!("others on this machine may read {name}"),
                advice,
            ));
        }
    }
    None
}
