//! The tasks of the web search actor.

use emend_chassis::Task;
use emend_proto::v1;

use crate::backend::Search as Query;
use crate::error::SearchError;

/// Search. The query is valid.
pub(crate) struct Search(pub(crate) Query);

impl Task for Search {
    type Reply = v1::SearchResponse;
    type Error = SearchError;
    const NAME: &'static str = "search";
}
