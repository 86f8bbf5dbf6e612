use super::*;

#[test]
fn only_known_services_name_spans_and_probes_have_none() {
    let known: KnownServices = Arc::from(["emend.v1.GraderService".to_owned()]);
    assert_eq!(
        method("/emend.v1.GraderService/GradeDocuments", &known),
        Some("emend.v1.GraderService/GradeDocuments")
    );
    assert_eq!(method("/made.Up/Name", &known), Some("_OTHER"));
    assert_eq!(method("/grpc.health.v1.Health/Check", &known), None);
    for version in ["v1", "v1alpha"] {
        let path = format!("/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo");
        assert_eq!(method(&path, &known), None);
    }
}
