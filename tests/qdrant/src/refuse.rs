//! The two traits: what the retriever calls, and everything else refused.

use ::qdrant_client::qdrant::collections_server::Collections;
use ::qdrant_client::qdrant::points_server::Points;
use ::qdrant_client::qdrant::{self as q, *};
use tonic::{Request, Response, Status};

use super::{Answer, Answering, Server};

/// Calls that are answered by a function, and calls that nobody makes.
macro_rules! calls {
    (answered: { $($name:ident($request:ty) -> $reply:ty = $answer:expr;)* } refused: { $($no:ident($what:ty) -> $result:ty;)* }) => {
        $(fn $name<'a, 'b>(&'a self, request: Request<$request>) -> Answering<'b, $reply>
        where
            'a: 'b,
            Self: 'b,
        {
            let answer: fn(&Server, $request) -> Result<$reply, Status> = $answer;
            let answer: Answer<$reply> = answer(self, request.into_inner()).map(Response::new);
            Box::pin(std::future::ready(answer))
        })*
        $(fn $no<'a, 'b>(&'a self, _: Request<$what>) -> Answering<'b, $result>
        where
            'a: 'b,
            Self: 'b,
        {
            Box::pin(std::future::ready(Err(Status::unimplemented(stringify!($no)))))
        })*
    };
}

fn updated() -> PointsOperationResponse {
    PointsOperationResponse {
        result: Some(q::UpdateResult {
            status: UpdateStatus::Completed.into(),
            ..q::UpdateResult::default()
        }),
        ..PointsOperationResponse::default()
    }
}

fn done() -> CollectionOperationResponse {
    CollectionOperationResponse {
        result: true,
        time: 0.0,
    }
}

impl Points for Server {
    calls! {
        answered: {
            upsert(UpsertPoints) -> PointsOperationResponse = |server, request| {
                server.upsert_points(request).map(|()| updated())
            };
            delete(DeletePoints) -> PointsOperationResponse = |server, request| {
                server.delete_points(request).map(|()| updated())
            };
            create_field_index(CreateFieldIndexCollection) -> PointsOperationResponse = |server, request| {
                server.index_field(request).map(|()| updated())
            };
            get(GetPoints) -> GetResponse = |server, request| server.get_points(request);
            scroll(ScrollPoints) -> ScrollResponse = |server, request| server.scroll_points(request);
            query(QueryPoints) -> QueryResponse = |server, request| {
                let result = server.query_points(request)?;
                Ok(QueryResponse { result, ..QueryResponse::default() })
            };
            count(CountPoints) -> CountResponse = |server, request| {
                assert_eq!(request.exact, Some(true));
                let filter = request.filter.as_ref().map(super::convert::filter).transpose()?;
                let count = server.count_of(&request.collection_name, filter)? as u64;
                Ok(CountResponse { result: Some(CountResult { count }), ..CountResponse::default() })
            };
        }
        refused: {
            update_vectors(UpdatePointVectors) -> PointsOperationResponse;
            delete_vectors(DeletePointVectors) -> PointsOperationResponse;
            set_payload(SetPayloadPoints) -> PointsOperationResponse;
            overwrite_payload(SetPayloadPoints) -> PointsOperationResponse;
            delete_payload(DeletePayloadPoints) -> PointsOperationResponse;
            clear_payload(ClearPayloadPoints) -> PointsOperationResponse;
            delete_field_index(DeleteFieldIndexCollection) -> PointsOperationResponse;
            create_vector_name(CreateVectorNameRequest) -> PointsOperationResponse;
            delete_vector_name(DeleteVectorNameRequest) -> PointsOperationResponse;
            search(SearchPoints) -> SearchResponse;
            search_batch(SearchBatchPoints) -> SearchBatchResponse;
            search_groups(SearchPointGroups) -> SearchGroupsResponse;
            recommend(RecommendPoints) -> RecommendResponse;
            recommend_batch(RecommendBatchPoints) -> RecommendBatchResponse;
            recommend_groups(RecommendPointGroups) -> RecommendGroupsResponse;
            discover(DiscoverPoints) -> DiscoverResponse;
            discover_batch(DiscoverBatchPoints) -> DiscoverBatchResponse;
            update_batch(UpdateBatchPoints) -> UpdateBatchResponse;
            query_batch(QueryBatchPoints) -> QueryBatchResponse;
            query_groups(QueryPointGroups) -> QueryGroupsResponse;
            facet(FacetCounts) -> FacetResponse;
            search_matrix_pairs(SearchMatrixPoints) -> SearchMatrixPairsResponse;
            search_matrix_offsets(SearchMatrixPoints) -> SearchMatrixOffsetsResponse;
        }
    }
}

impl Collections for Server {
    calls! {
        answered: {
            get(GetCollectionInfoRequest) -> GetCollectionInfoResponse = |server, request| {
                let collection = server.collection(&request.collection_name)?;
                let info = CollectionInfo { config: Some(collection.config.clone()), ..CollectionInfo::default() };
                Ok(GetCollectionInfoResponse { result: Some(info), time: 0.0 })
            };
            list(ListCollectionsRequest) -> ListCollectionsResponse = |server, _| {
                let collections = server.0.collections.read().unwrap();
                let collections = collections.keys().map(|name| CollectionDescription { name: name.clone() });
                Ok(ListCollectionsResponse { collections: collections.collect(), time: 0.0 })
            };
            update_aliases(ChangeAliases) -> CollectionOperationResponse = |server, request| {
                server.change_aliases(request).map(|()| done())
            };
            list_aliases(ListAliasesRequest) -> ListAliasesResponse = |server, _| {
                let aliases = server.0.aliases.read().unwrap();
                let aliases = aliases.iter().map(|(alias_name, collection_name)| AliasDescription {
                    alias_name: alias_name.clone(),
                    collection_name: collection_name.clone(),
                });
                Ok(ListAliasesResponse { aliases: aliases.collect(), time: 0.0 })
            };
            create(CreateCollection) -> CollectionOperationResponse = |server, request| {
                server.make(request).map(|()| done())
            };
            delete(DeleteCollection) -> CollectionOperationResponse = |server, request| {
                let result = server.remove(&request.collection_name);
                Ok(CollectionOperationResponse { result, time: 0.0 })
            };
        }
        refused: {
            update(UpdateCollection) -> CollectionOperationResponse;
            list_collection_aliases(ListCollectionAliasesRequest) -> ListAliasesResponse;
            collection_cluster_info(CollectionClusterInfoRequest) -> CollectionClusterInfoResponse;
            collection_exists(CollectionExistsRequest) -> CollectionExistsResponse;
            update_collection_cluster_setup(UpdateCollectionClusterSetupRequest) -> UpdateCollectionClusterSetupResponse;
            create_shard_key(CreateShardKeyRequest) -> CreateShardKeyResponse;
            delete_shard_key(DeleteShardKeyRequest) -> DeleteShardKeyResponse;
            list_shard_keys(ListShardKeysRequest) -> ListShardKeysResponse;
        }
    }
}
