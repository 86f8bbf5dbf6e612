//! Checks requests against the limits of the contract before admission.

use emend_chassis::{InvalidRequest, Violations};
use emend_core::limits::{MAX_QUESTION_BYTES, MAX_WEB_RESULTS};
use emend_proto::v1::SearchRequest;

use crate::backend::Search;
use emend_pages::{Domain, DomainFilter};

/// Default number of passages to return.
const DEFAULT_RESULTS: u32 = 4;
/// Most domains in each list.
const MAX_DOMAINS: usize = 100;

/// The search that `request` asks for, or all of its invalid fields.
pub(crate) fn search(request: SearchRequest) -> Result<Search, InvalidRequest> {
    let mut violations = Violations::new();
    let bytes = request.query.len();
    violations
        .require(!request.query.trim().is_empty(), "query", || {
            format!("must not be blank, is {bytes} bytes of white space")
        })
        .require(bytes <= MAX_QUESTION_BYTES, "query", || {
            format!("must be at most {MAX_QUESTION_BYTES} bytes, is {bytes}")
        });
    let max_results = request.max_results.unwrap_or(DEFAULT_RESULTS);
    violations.require((1..=MAX_WEB_RESULTS).contains(&max_results), "max_results", || {
        format!("must be 1 to {MAX_WEB_RESULTS}, is {max_results}")
    });
    let domains = DomainFilter {
        allowed: domains(&mut violations, "allowed_domains", &request.allowed_domains),
        blocked: domains(&mut violations, "blocked_domains", &request.blocked_domains),
    };
    violations.finish()?;
    Ok(Search {
        query: request.query,
        max_results: max_results as usize,
        domains,
    })
}

fn domains(violations: &mut Violations, field: &str, texts: &[String]) -> Vec<Domain> {
    violations.require(texts.len() <= MAX_DOMAINS, field, || {
        format!("must be at most {MAX_DOMAINS} domains, are {}", texts.len())
    });
    let mut found = Vec::new();
    for (index, text) in texts.iter().enumerate().take(MAX_DOMAINS) {
        match Domain::parse(text) {
            Ok(domain) => found.push(domain),
            Err(error) => {
                violations.push(format!("{field}[{index}]"), error.to_string());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
