use super::*;

fn status_of(health: &Health, name: &str) -> ServingStatus {
    health
        .statuses()
        .into_iter()
        .find(|(known, _)| known == name)
        .unwrap()
        .1
}

#[test]
fn a_service_serves_while_all_its_flags_are_up_and_the_server_while_all_services_do() {
    let health = Health::new();
    let (first, second) = (health.flag("a"), health.flag("a"));
    health.register("b");
    assert_eq!(status_of(&health, "a"), ServingStatus::Serving);
    assert_eq!(status_of(&health, ""), ServingStatus::Serving);
    first.set_serving(false);
    second.set_serving(true);
    assert_eq!(status_of(&health, "a"), ServingStatus::NotServing);
    assert_eq!(status_of(&health, "b"), ServingStatus::Serving);
    assert_eq!(status_of(&health, ""), ServingStatus::NotServing);
    first.set_serving(true);
    assert_eq!(status_of(&health, ""), ServingStatus::Serving);
    health.drain();
    assert_eq!(status_of(&health, "b"), ServingStatus::NotServing);
}
