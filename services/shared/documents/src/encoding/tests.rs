use encoding_rs::{BIG5, EUC_JP, EUC_KR, GB18030, SHIFT_JIS, WINDOWS_1252};

use super::*;

#[test]
fn old_encodings_are_recognised() {
    let korean = "주차장은 지하 2층이며 직원 차량은 40대까지 주차할 수 있습니다.\r\n방문객은 2시간까지 무료입니다.";
    let japanese = "保証期間内かどうかを確認する。保証が切れている場合は、見積書を三営業日以内に送る。";
    let chinese = "进入装配区必须穿防静电鞋和防静电服,手环电阻每天上班前检测。夜班不得少于两人。";
    let taiwanese = "進入裝配區必須穿防靜電鞋和防靜電服,手環電阻每天上班前檢測。夜班不得少於兩人。";
    let german = "Die Kantine öffnet um 11:15 Uhr und schließt um 14:00 Uhr. Gäste zahlen 8,20 €.";
    for (encoding, text) in [
        (EUC_KR, korean),
        (SHIFT_JIS, japanese),
        (EUC_JP, japanese),
        (GB18030, chinese),
        (BIG5, taiwanese),
        (WINDOWS_1252, german),
    ] {
        let (bytes, _, unmappable) = encoding.encode(text);
        assert!(!unmappable);
        assert_eq!(decode(&bytes).unwrap(), text, "{}", encoding.name());
        assert!(is_text(&bytes), "{}", encoding.name());
    }
    // Long after a beginning in ASCII.
    let mut late = b"line\n".repeat(1 << 19);
    late.extend_from_slice(&EUC_KR.encode(korean).0);
    assert!(decode(&late).unwrap().ends_with(korean));
}

#[test]
fn a_byte_order_mark_decides_and_is_no_text() {
    assert_eq!(decode("\u{feff}안녕".as_bytes()).unwrap(), "안녕");
    assert_eq!(decode(b"\xff\xfeh\0i\0").unwrap(), "hi");
    assert_eq!(decode(b"\xfe\xff\0h\0i").unwrap(), "hi");
    assert_eq!(decode(b"plain").unwrap(), "plain");
}

#[test]
fn a_page_may_declare_its_encoding() {
    let page = b"<html><meta charset=\"iso-8859-2\"><p>\xb1\xea</p>";
    assert!(decode(page).unwrap().ends_with("<p>ąę</p>"));
    let page = b"<?xml version=\"1.0\" encoding='windows-1251'?><a>\xcf\xf0\xe8</a>";
    assert!(decode(page).unwrap().ends_with("<a>При</a>"));
}

#[test]
fn damage_in_few_places_does_not_change_the_encoding() {
    let mut damaged = "주차장은 지하 2층이며 직원 차량은 40대까지".repeat(10).into_bytes();
    damaged[1] = b'x';
    let text = decode(&damaged).unwrap();
    assert!(
        text.ends_with("40대까지") && text.contains(char::REPLACEMENT_CHARACTER),
        "{text}"
    );
}

#[test]
fn what_is_no_text_is_refused() {
    assert!(matches!(decode(b"some\0thing"), Err(DocumentError::Unreadable { .. })));
    let noise: Vec<u8> = (0..4000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8 | 1)
        .collect();
    assert!(decode(&noise).is_err());
    assert!(!is_text(&noise));
}

#[test]
fn the_beginning_of_a_file_may_end_within_a_character() {
    let text = "층".repeat(100);
    for length in 290..300 {
        assert!(is_text(&text.as_bytes()[..length]), "{length}");
    }
}
