use super::*;

#[test]
fn questions_are_classified() {
    for (question, kind) in [
        ("Who wrote the book?", Kind::Who),
        ("In what year did it open?", Kind::When),
        ("how many people live there", Kind::HowMany),
        ("How does it work?", Kind::How),
        ("Where is the tower?", Kind::Where),
        ("Why is the sky blue?", Kind::Why),
        ("What is a boiler?", Kind::Other),
        ("탑은 언제 세워졌나요?", Kind::When),
        ("인구는 몇 명인가?", Kind::HowMany),
        ("휴가는 며칠인가요?", Kind::HowMany),
        ("誰が書いたか", Kind::Who),
        ("党員は何人か", Kind::HowMany),
        ("塔在哪里？", Kind::Where),
        ("為什麼天空是藍的?", Kind::Why),
        ("他出生於哪一年?", Kind::When),
        ("Whose somehow showed anywhere", Kind::Who),
        ("Nowhere and somehow", Kind::Other),
        ("这座塔被称为什么？", Kind::Other),
        ("改革的目標為何?", Kind::Other),
        ("為何天空是藍的?", Kind::Why),
        ("何人建了這座塔?", Kind::Who),
        ("包含哪几类塔？", Kind::Other),
        ("塔在什麼時間之後關閉?", Kind::When),
        ("Wie viele Tage Urlaub gibt es im Jahr?", Kind::HowMany),
        ("Wie entferne ich den Kalk?", Kind::How),
        ("Où sont les bouteilles de gaz qui sont vides ?", Kind::Where),
        ("Combien de jours faut-il pour la livraison ?", Kind::HowMany),
        ("¿Cuándo abre la oficina?", Kind::When),
        ("Chi approva le ferie e quando?", Kind::Who),
        ("Quantos dias de férias há por ano?", Kind::HowMany),
        ("Hoe lang duurt de levering van het pakket?", Kind::HowMany),
        ("Where do the parts come from?", Kind::Where),
    ] {
        assert_eq!(Kind::of(question), kind, "{question}");
    }
}
