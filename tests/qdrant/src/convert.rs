//! Between the messages of the protocol and the types of the engine.

use qdrant_client::qdrant::condition::ConditionOneOf;
use qdrant_client::qdrant::r#match::MatchValue;
use qdrant_client::qdrant::point_id::PointIdOptions;
use qdrant_client::qdrant::quantization_config::Quantization;
use qdrant_client::qdrant::value::Kind;
use qdrant_client::qdrant::vector::Vector as Wire;
use qdrant_client::qdrant::{self as q, query::Variant, vector_input, vector_output, vectors, vectors_output};
use qdrant_edge::external::serde_json::{self, Map, Value, json};
use qdrant_edge::external::uuid::Uuid;
use qdrant_edge::{
    Filter, JsonPath, Payload, PointId, PointStruct, QuantizationConfig, QuantizationSearchParams, Record, ScoredPoint,
    SearchParams, SparseVector, Vector, VectorInternal, VectorStructInternal, Vectors,
};
use tonic::Status;

fn unknown(what: &str) -> Status {
    Status::unimplemented(format!("{what} is not known here"))
}

pub(crate) fn id(id: q::PointId) -> Result<PointId, Status> {
    match id.point_id_options {
        Some(PointIdOptions::Uuid(uuid)) => Ok(PointId::Uuid(
            Uuid::parse_str(&uuid).map_err(|_| Status::invalid_argument(uuid))?,
        )),
        _ => Err(unknown("a numeric id")),
    }
}

pub(crate) fn id_back(id: PointId) -> q::PointId {
    let options = match id {
        PointId::NumId(number) => PointIdOptions::Num(number),
        PointId::Uuid(uuid) => PointIdOptions::Uuid(uuid.to_string()),
    };
    q::PointId {
        point_id_options: Some(options),
    }
}

pub(crate) fn path(name: &str) -> Result<JsonPath, Status> {
    name.parse().map_err(|()| Status::invalid_argument(name.to_owned()))
}

/// The engine reads filters as the server's other interface writes them.
pub(crate) fn filter(filter: &q::Filter) -> Result<Filter, Status> {
    serde_json::from_value(filter_json(filter)?).map_err(|error| Status::invalid_argument(error.to_string()))
}

fn filter_json(filter: &q::Filter) -> Result<Value, Status> {
    assert!(filter.should.is_empty() && filter.min_should.is_none());
    let conditions = |of: &[q::Condition]| of.iter().map(condition_json).collect::<Result<Vec<_>, _>>();
    Ok(json!({ "must": conditions(&filter.must)?, "must_not": conditions(&filter.must_not)? }))
}

fn condition_json(condition: &q::Condition) -> Result<Value, Status> {
    match &condition.condition_one_of {
        Some(ConditionOneOf::HasId(ids)) => {
            let ids = ids.has_id.iter().cloned().map(id).collect::<Result<Vec<_>, _>>()?;
            Ok(json!({ "has_id": ids }))
        }
        Some(ConditionOneOf::Nested(nested)) => {
            let filter = filter_json(&nested.filter.clone().unwrap_or_default())?;
            Ok(json!({ "nested": { "key": nested.key, "filter": filter } }))
        }
        Some(ConditionOneOf::Field(field)) => {
            if let Some(q::Range { lt, gt, gte, lte }) = field.range {
                return Ok(json!({ "key": field.key, "range": { "lt": lt, "gt": gt, "gte": gte, "lte": lte } }));
            }
            let matching = match field.r#match.as_ref().and_then(|value| value.match_value.as_ref()) {
                Some(MatchValue::Keyword(keyword)) => json!({ "value": keyword }),
                Some(MatchValue::Keywords(keywords)) => json!({ "any": keywords.strings }),
                _ => return Err(unknown("this match")),
            };
            Ok(json!({ "key": field.key, "match": matching }))
        }
        _ => Err(unknown("this condition")),
    }
}

fn json_of(value: q::Value) -> Result<Value, Status> {
    Ok(match value.kind {
        Some(Kind::StringValue(text)) => Value::String(text),
        Some(Kind::IntegerValue(number)) => number.into(),
        Some(Kind::DoubleValue(number)) => number.into(),
        Some(Kind::BoolValue(is)) => Value::Bool(is),
        Some(Kind::StructValue(object)) => {
            let fields = object.fields.into_iter();
            let fields = fields.map(|(name, value)| Ok((name, json_of(value)?)));
            Value::Object(fields.collect::<Result<_, Status>>()?)
        }
        Some(Kind::ListValue(list)) => list
            .values
            .into_iter()
            .map(json_of)
            .collect::<Result<Vec<_>, _>>()?
            .into(),
        _ => return Err(unknown("this kind of value")),
    })
}

fn value_of(json: Value) -> q::Value {
    match json {
        Value::String(text) => text.into(),
        Value::Bool(is) => is.into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().unwrap().into(),
        },
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| (name, value_of(value)));
            Kind::StructValue(q::Struct {
                fields: fields.collect(),
            })
            .into()
        }
        Value::Array(values) => values.into_iter().map(value_of).collect::<Vec<_>>().into(),
        other => panic!("{other}"),
    }
}

fn payload(payload: Option<Payload>) -> std::collections::HashMap<String, q::Value> {
    let fields = payload.map(|payload| payload.0).unwrap_or_default();
    fields
        .into_iter()
        .map(|(name, value)| (name, value_of(value)))
        .collect()
}

pub(crate) fn point(point: q::PointStruct) -> Result<PointStruct, Status> {
    let Some(vectors::VectorsOptions::Vectors(named)) = point.vectors.and_then(|vectors| vectors.vectors_options)
    else {
        return Err(Status::invalid_argument("Expected some vectors"));
    };
    let named = named.vectors.into_iter().map(|(name, vector)| {
        let vector = match vector.vector {
            Some(Wire::Dense(dense)) => Vector::new_dense(dense.data),
            Some(Wire::Sparse(sparse)) => Vector::new_sparse(sparse.indices, sparse.values)
                .map_err(|error| Status::invalid_argument(error.to_string()))?,
            _ => return Err(unknown("this vector")),
        };
        Ok((name, vector))
    });
    let named = named.collect::<Result<Vec<_>, _>>()?;
    let mut fields = Map::new();
    for (name, value) in point.payload {
        fields.insert(name, json_of(value)?);
    }
    let id = id(point.id.ok_or_else(|| Status::invalid_argument("a point has no id"))?)?;
    Ok(PointStruct::new(id, Vectors::new_named(named), Value::Object(fields)))
}

pub(crate) fn query(query: Option<q::Query>) -> Result<VectorInternal, Status> {
    let Some(Variant::Nearest(nearest)) = query.and_then(|query| query.variant) else {
        return Err(unknown("this query"));
    };
    match nearest.variant {
        Some(vector_input::Variant::Dense(dense)) => Ok(VectorInternal::Dense(dense.data)),
        Some(vector_input::Variant::Sparse(sparse)) => Ok(VectorInternal::Sparse(SparseVector {
            indices: sparse.indices,
            values: sparse.values,
        })),
        _ => Err(unknown("this vector")),
    }
}

pub(crate) fn params(params: q::SearchParams) -> SearchParams {
    SearchParams {
        hnsw_ef: params.hnsw_ef.map(|ef| ef as usize),
        exact: params.exact.unwrap_or_default(),
        quantization: params.quantization.map(|params| QuantizationSearchParams {
            ignore: params.ignore.unwrap_or_default(),
            rescore: params.rescore,
            oversampling: params.oversampling,
        }),
        ..SearchParams::default()
    }
}

/// The engine reads it as the server's other interface writes it.
pub(crate) fn quantization(config: q::QuantizationConfig) -> Result<QuantizationConfig, Status> {
    let Some(Quantization::Scalar(scalar)) = config.quantization else {
        return Err(unknown("this quantization"));
    };
    assert_eq!(scalar.r#type(), q::QuantizationType::Int8);
    let config = json!({ "scalar": { "type": "int8", "quantile": scalar.quantile, "always_ram": true } });
    serde_json::from_value(config).map_err(|error| Status::invalid_argument(error.to_string()))
}

pub(crate) fn scored(point: ScoredPoint) -> q::ScoredPoint {
    q::ScoredPoint {
        id: Some(id_back(point.id)),
        payload: payload(point.payload),
        score: point.score,
        ..q::ScoredPoint::default()
    }
}

pub(crate) fn retrieved(record: Record) -> q::RetrievedPoint {
    let vectors = record.vector.map(|vector| {
        let VectorStructInternal::Named(named) = vector else {
            panic!("a vector without a name")
        };
        let named = named.into_iter().map(|(name, vector)| {
            let vector = match vector {
                VectorInternal::Dense(data) => vector_output::Vector::Dense(q::DenseVector { data }),
                VectorInternal::Sparse(sparse) => vector_output::Vector::Sparse(q::SparseVector {
                    values: sparse.values,
                    indices: sparse.indices,
                }),
                VectorInternal::MultiDense(_) => panic!("a vector of vectors"),
            };
            let output = q::VectorOutput {
                vector: Some(vector),
                ..q::VectorOutput::default()
            };
            (name.to_string(), output)
        });
        q::VectorsOutput {
            vectors_options: Some(vectors_output::VectorsOptions::Vectors(q::NamedVectorsOutput {
                vectors: named.collect(),
            })),
        }
    });
    q::RetrievedPoint {
        id: Some(id_back(record.id)),
        payload: payload(record.payload),
        vectors,
        ..q::RetrievedPoint::default()
    }
}

pub(crate) fn wanted(selector: Option<q::WithVectorsSelector>) -> bool {
    matches!(
        selector.and_then(|selector| selector.selector_options),
        Some(q::with_vectors_selector::SelectorOptions::Enable(true))
    )
}
