use std::time::Duration;

use emend_core::FieldViolation;
use proptest::prelude::*;

use super::*;

fn headers(status: &Status) -> HeaderMap {
    let mut headers = HeaderMap::new();
    status.add_header(&mut headers).unwrap();
    headers
}

fn settled(status: &Status) -> (Status, HeaderMap) {
    let mut headers = headers(status);
    settle(&mut headers);
    (Status::from_header_map(&headers).unwrap(), headers)
}

#[derive(Debug, thiserror::Error)]
#[error("many fields are wrong")]
struct Wrong(usize);

impl ServiceError for Wrong {
    fn reason(&self) -> emend_core::Reason {
        emend_core::Reason::FieldInvalid
    }
    fn violations(&self) -> Vec<FieldViolation> {
        let violation = |number| FieldViolation {
            field: format!("filter.field_{number}"),
            description: "must be at most 64 characters long, and has 3,900,000 of them".to_owned(),
        };
        (0..self.0).map(violation).collect()
    }
    fn retry_after(&self) -> Option<Duration> {
        Some(Duration::from_millis(200))
    }
}

#[test]
fn a_status_within_the_limits_stays_as_it_is() {
    let before = headers(&status(&Wrong(9)));
    let mut after = before.clone();
    settle(&mut after);
    assert_eq!(before, after);
}

#[test]
fn a_long_message_is_cut_at_a_character_and_says_how_much_is_left_out() {
    let (cut, headers) = settled(&Status::not_found("名".repeat(4000)));
    assert!(headers[Status::GRPC_MESSAGE].len() <= MAX_MESSAGE_BYTES);
    let kept = cut.message().chars().take_while(|c| *c == '名').count();
    let expected = format!("… ({} bytes left out)", (4000 - kept) * 3);
    assert!(kept > 90 && cut.message().ends_with(&expected), "{}", cut.message());
}

#[test]
fn violations_are_cut_and_counted_and_what_clients_act_on_is_kept() {
    let (cut, headers) = settled(&status(&Wrong(64)));
    assert!(headers[Status::GRPC_STATUS_DETAILS].len() <= MAX_DETAILS_BYTES);
    let details = cut.get_error_details();
    assert_eq!(details.error_info().unwrap().reason, "FIELD_INVALID");
    assert_eq!(
        details.retry_info().unwrap().retry_delay,
        Some(Duration::from_millis(200))
    );
    let violations = &details.bad_request().unwrap().field_violations;
    let (last, kept) = violations.split_last().unwrap();
    assert!(kept.len() >= 10, "{}", kept.len());
    assert_eq!(kept[0].field, "filter.field_0");
    let more = 64 - kept.len();
    assert_eq!(
        last.description,
        format!("{more} more fields are wrong, and left out here")
    );
}

#[test]
fn metadata_that_makes_the_trailers_too_long_is_left_out() {
    let mut status = Status::unavailable("no");
    status
        .metadata_mut()
        .insert("x-long", "a".repeat(9000).parse().unwrap());
    let (cut, headers) = settled(&status);
    assert_eq!((cut.code(), cut.message()), (Code::Unavailable, "no"));
    assert!(bytes(&headers) <= MAX_TRAILERS_BYTES);
}

#[test]
fn a_message_that_is_too_large_is_the_fault_of_whoever_made_it() {
    let sizes = "found 9 bytes, the limit is: 8 bytes";
    let (sent, _) = settled(&Status::out_of_range(format!("{TOO_LARGE_TO_SEND}{sizes}")));
    assert_eq!(sent.code(), Code::Internal);
    assert!(sent.message().ends_with(sizes), "{}", sent.message());
    let (read, _) = settled(&Status::out_of_range(format!("{TOO_LARGE_TO_READ}{sizes}")));
    assert_eq!(read.code(), Code::InvalidArgument);
    let (other, _) = settled(&Status::out_of_range("page 7 of 3"));
    assert_eq!((other.code(), other.message()), (Code::OutOfRange, "page 7 of 3"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_status_becomes_one_that_a_client_can_read(
        code in 1..17_i32,
        message in prop_oneof![".{0,40}", ".{900,3000}", "[ -~]{0,2000}"],
        details in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..6000),
            proptest::collection::vec((".{0,300}", ".{0,900}"), 0..40).prop_map(|violations| {
                let violations: Vec<_> = violations
                    .into_iter()
                    .map(|(field, description)| tonic_types::FieldViolation::new(field, description))
                    .collect();
                let mut details = ErrorDetails::with_bad_request(violations);
                details.set_error_info("REASON", "emend", [("key".to_owned(), "value".repeat(200))]);
                Status::with_error_details(Code::Unknown, "no", details).details().to_vec()
            }),
        ],
        metadata in "[a-z]{0,9000}",
    ) {
        let code = Code::from(code);
        let mut before = Status::with_details(code, message, details.into());
        before.metadata_mut().insert("x-own", metadata.parse().unwrap());
        let (after, headers) = settled(&before);
        prop_assert_eq!(after.code(), code);
        prop_assert!(headers.get(Status::GRPC_MESSAGE).is_none_or(|value| value.len() <= MAX_MESSAGE_BYTES));
        prop_assert!(headers.get(Status::GRPC_STATUS_DETAILS).is_none_or(|value| value.len() <= MAX_DETAILS_BYTES));
        prop_assert!(bytes(&headers) <= MAX_TRAILERS_BYTES);
        if before.get_error_details().error_info().is_some() {
            let details = after.get_error_details();
            prop_assert_eq!(&details.error_info().unwrap().reason, "REASON");
        }
    }
}

#[test]
fn a_malformed_request_is_its_callers_fault() {
    let sent = Status::internal("failed to decode Protobuf message: Question.question: invalid string value");
    let (told, _) = settled(&sent);
    assert_eq!(told.code(), Code::InvalidArgument);
    assert_eq!(
        told.message(),
        "the request is malformed: Question.question: invalid string value"
    );
    let own = Status::internal("the store failed to decode Protobuf message: none");
    assert_eq!(settled(&own).0.code(), Code::Internal);
}
