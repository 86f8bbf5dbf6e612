//! Why a call failed, by the closed list of `proto/emend/v1/error.proto`.

use crate::Code;

/// Makes the list: a variant, its name on the wire, and its code. What each means stands in the contract.
macro_rules! reasons {
    ($($code:ident { $($reason:ident $name:literal)+ })+) => {
        /// Why a call failed: `ErrorReason` of the contracts, where each is explained.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reason {
            $($(
                #[doc = concat!("`", $name, "`, with [`Code::", stringify!($code), "`].")]
                $reason,
            )+)+
        }

        impl Reason {
            /// All of them.
            pub const ALL: &[Self] = &[$($(Self::$reason,)+)+];

            /// As `google.rpc.ErrorInfo.reason` has it, for example `COLLECTION_NOT_FOUND`.
            pub const fn name(self) -> &'static str {
                match self {
                    $($(Self::$reason => $name,)+)+
                }
            }

            /// The one code that it comes with.
            pub const fn code(self) -> Code {
                match self {
                    $($(Self::$reason)|+ => Code::$code,)+
                }
            }
        }
    };
}

reasons! {
    InvalidArgument {
        FieldInvalid "FIELD_INVALID"
        OptionUnknown "OPTION_UNKNOWN"
        GraphInvalid "GRAPH_INVALID"
        RequestTooLarge "REQUEST_TOO_LARGE"
        RequestUnreadable "REQUEST_UNREADABLE"
        DocumentUnreadable "DOCUMENT_UNREADABLE"
    }
    NotFound {
        CollectionNotFound "COLLECTION_NOT_FOUND"
        DocumentNotFound "DOCUMENT_NOT_FOUND"
        GraphNotFound "GRAPH_NOT_FOUND"
        PathNotFound "PATH_NOT_FOUND"
    }
    Unauthenticated {
        KeyMissing "KEY_MISSING"
        KeyUnknown "KEY_UNKNOWN"
    }
    PermissionDenied {
        KeyNotAllowed "KEY_NOT_ALLOWED"
        GraphYamlDisabled "GRAPH_YAML_DISABLED"
        OriginNotAllowed "ORIGIN_NOT_ALLOWED"
    }
    FailedPrecondition {
        EmbedderMismatch "EMBEDDER_MISMATCH"
        PageTokenExpired "PAGE_TOKEN_EXPIRED"
        StoredDataDamaged "STORED_DATA_DAMAGED"
        StoreUnusable "STORE_UNUSABLE"
        FeedbackDisabled "FEEDBACK_DISABLED"
        ModelRefused "MODEL_REFUSED"
        EmbedderRefused "EMBEDDER_REFUSED"
        WebSearchRefused "WEB_SEARCH_REFUSED"
        WebSearchDisabled "WEB_SEARCH_DISABLED"
        StateUnsuitable "STATE_UNSUITABLE"
    }
    ResourceExhausted {
        KeyRateExceeded "KEY_RATE_EXCEEDED"
        KeyBudgetSpent "KEY_BUDGET_SPENT"
        Overloaded "OVERLOADED"
        StorageFull "STORAGE_FULL"
        ModelRateLimited "MODEL_RATE_LIMITED"
        WebSearchRateLimited "WEB_SEARCH_RATE_LIMITED"
    }
    DeadlineExceeded {
        DeadlineTooShort "DEADLINE_TOO_SHORT"
        RequestTooSlow "REQUEST_TOO_SLOW"
    }
    Cancelled {
        CallerGone "CALLER_GONE"
    }
    Unavailable {
        ServiceUnavailable "SERVICE_UNAVAILABLE"
        ShuttingDown "SHUTTING_DOWN"
        Interrupted "INTERRUPTED"
        ChangedMeanwhile "CHANGED_MEANWHILE"
        StoreUnavailable "STORE_UNAVAILABLE"
        ModelUnavailable "MODEL_UNAVAILABLE"
        EmbedderUnavailable "EMBEDDER_UNAVAILABLE"
        WebSearchUnavailable "WEB_SEARCH_UNAVAILABLE"
    }
    Unimplemented {
        MethodUnknown "METHOD_UNKNOWN"
    }
    Internal {
        StoreFailed "STORE_FAILED"
        EmbedderFailed "EMBEDDER_FAILED"
        ResponseTooLarge "RESPONSE_TOO_LARGE"
        Fault "FAULT"
    }
}

impl Reason {
    /// The reason of that name, as another service sent it.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| reason.name() == name)
    }

    /// What is said of an error of which no more than its code is known.
    pub const fn of_code(code: Code) -> Self {
        match code {
            Code::InvalidArgument => Self::FieldInvalid,
            Code::NotFound => Self::PathNotFound,
            Code::Unauthenticated => Self::KeyUnknown,
            Code::PermissionDenied => Self::KeyNotAllowed,
            Code::FailedPrecondition => Self::StateUnsuitable,
            Code::ResourceExhausted => Self::Overloaded,
            Code::DeadlineExceeded => Self::DeadlineTooShort,
            Code::Cancelled => Self::CallerGone,
            Code::Unavailable => Self::ServiceUnavailable,
            Code::Unimplemented => Self::MethodUnknown,
            Code::Internal => Self::Fault,
        }
    }
}
