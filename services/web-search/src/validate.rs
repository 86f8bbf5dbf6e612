//! The limits of the contract, checked before anything is admitted.

use emend_chassis::{InvalidRequest, Violations};
use emend_proto::v1::SearchRequest;

use crate::backend::Search;
use crate::domains::{Domain, DomainFilter};

/// Longest query in bytes.
const MAX_QUERY_BYTES: usize = 8 * 1024;
/// Passages returned where the request does not say how many.
const DEFAULT_RESULTS: u32 = 4;
/// Most passages returned.
const MAX_RESULTS: u32 = 50;
/// Most domains in each list.
const MAX_DOMAINS: usize = 100;

/// The search that `request` asks for, or everything that is wrong with it.
pub(crate) fn search(request: SearchRequest) -> Result<Search, InvalidRequest> {
    let mut violations = Violations::new();
    let bytes = request.query.len();
    violations
        .require(!request.query.trim().is_empty(), "query", || {
            format!("must not be blank, is {bytes} bytes of white space")
        })
        .require(bytes <= MAX_QUERY_BYTES, "query", || {
            format!("must be at most {MAX_QUERY_BYTES} bytes, is {bytes}")
        });
    let max_results = request.max_results.unwrap_or(DEFAULT_RESULTS);
    violations.require((1..=MAX_RESULTS).contains(&max_results), "max_results", || {
        format!("must be 1 to {MAX_RESULTS}, is {max_results}")
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
mod tests {
    use emend_chassis::ServiceError;

    use super::*;

    #[test]
    fn every_bad_field_is_named_at_once() {
        let request = SearchRequest {
            query: " ".to_owned(),
            max_results: Some(0),
            allowed_domains: vec!["example.com".to_owned(), "https://example.com".to_owned()],
            blocked_domains: vec!["a b".to_owned(); MAX_DOMAINS + 1],
        };
        let fields: Vec<_> = search(request)
            .unwrap_err()
            .violations()
            .into_iter()
            .map(|v| v.field)
            .collect();
        assert_eq!(
            fields[..4],
            ["query", "max_results", "allowed_domains[1]", "blocked_domains"]
        );
        assert_eq!(fields.len(), 4 + MAX_DOMAINS);
    }

    #[test]
    fn the_limits_themselves_are_allowed_and_unset_means_four() {
        let request = SearchRequest {
            query: "q".repeat(MAX_QUERY_BYTES),
            max_results: Some(MAX_RESULTS),
            allowed_domains: vec!["example.com".to_owned(); MAX_DOMAINS],
            blocked_domains: vec![],
        };
        assert_eq!(search(request).unwrap().max_results, 50);
        let request = SearchRequest {
            query: "q".to_owned(),
            ..SearchRequest::default()
        };
        assert_eq!(search(request).unwrap().max_results, 4);
    }
}
