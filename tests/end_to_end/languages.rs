//! Questions in five languages over a handbook in the same language, and in three over the English one, with the default
//! embedder's real weights: what is in the handbook is answered, what is not is not.

use emend_cli::cluster::Plan;
use emend_proto::v1::WalkStatus;
use emend_tests::{Fixture, question};

/// A handbook, questions with what an answer has to say, some that are in doubt, and questions that it does not answer.
struct Book {
    language: &'static str,
    text: &'static str,
    answered: &'static [(&'static str, &'static str)],
    doubtful: &'static [(&'static str, &'static str)],
    unanswered: &'static [&'static str],
}

const ENGLISH: &str = "# Staff handbook\n\n## Holidays\nEvery employee has 25 days of paid holiday a year. A holiday is \
    approved by the head of the team within three days. Days that are not taken by the end of March are lost.\n\n\
    ## Travel\nTrains are booked in second class. A hotel may cost up to 120 euros a night. Receipts are handed in within \
    two weeks.\n\n## Office\nThe head office is in Tromsø, on the fourth floor of the old cannery. It was opened in 2014 \
    by Ingrid Moen. The office opens at 8 in the morning.\n";

const BOOKS: [Book; 6] = [
    Book {
        language: "en",
        text: ENGLISH,
        answered: &[
            ("How many days of holiday do I have?", "25"),
            ("Where is the head office?", "Tromsø"),
            ("When was the head office opened?", "2014"),
            ("How much may a hotel cost?", "120"),
            ("How soon must receipts be handed in?", "two weeks"),
        ],
        doubtful: &[],
        unanswered: &["Who is the chief financial officer?", "What is the wifi password?"],
    },
    Book {
        language: "ko",
        text: "# 직원 안내서\n\n## 휴가\n모든 직원은 1년에 유급 휴가 25일을 받는다. 휴가는 팀장이 3일 안에 승인한다. 3월 말까지 쓰지 \
            않은 휴가는 사라진다.\n\n## 출장\n기차는 이등석으로 예약한다. 호텔비는 하룻밤에 12만 원까지 쓸 수 있다. 영수증은 2주 \
            안에 제출한다.\n\n## 사무실\n본사는 부산 영도구의 옛 조선소 건물 4층에 있다. 본사는 2014년에 김서연 대표가 열었다. \
            사무실은 아침 8시에 문을 연다.\n",
        answered: &[
            ("휴가는 누가 승인하나요?", "팀장"),
            ("본사는 누가 열었나요?", "김서연"),
            ("본사는 어디에 있나요?", "영도구"),
            ("호텔비는 얼마까지 쓸 수 있나요?", "12만"),
            ("영수증은 언제까지 제출해야 하나요?", "2주"),
        ],
        doubtful: &[],
        unanswered: &["최고재무책임자는 누구인가요?", "와이파이 비밀번호는 무엇인가요?"],
    },
    Book {
        language: "ja",
        text: "# 社員ハンドブック\n\n## 休暇\nすべての社員は年に25日の有給休暇を取得できる。休暇は課長が3日以内に承認する。3月末までに\
            使わなかった休暇は失効する。\n\n## 出張\n列車は普通車を予約する。ホテル代は一泊1万2千円までとする。領収書は2週間以内に\
            提出する。\n\n## 事務所\n本社は函館の古い缶詰工場の4階にある。本社は2014年に田中美咲社長が開いた。事務所は朝8時に開く。\n",
        answered: &[
            ("有給休暇は何日ありますか？", "25"),
            ("休暇は誰が承認しますか？", "課長"),
            ("ホテル代はいくらまでですか？", "1万2千"),
            ("本社は誰が開きましたか？", "田中美咲"),
        ],
        doubtful: &[],
        unanswered: &["最高財務責任者は誰ですか？", "無線LANのパスワードは何ですか？"],
    },
    Book {
        language: "zh",
        text: "# 员工手册\n\n## 休假\n每位员工每年有25天带薪年假。年假由团队负责人在三天内批准。三月底之前没有用完的年假作废。\n\n\
            ## 出差\n火车订二等座。酒店每晚最多800元。发票须在两周内提交。\n\n## 办公室\n总部位于大连一座旧罐头厂的四楼。总部由李文静\
            于2014年启用。办公室早上8点开门。\n",
        answered: &[
            ("年假由谁批准？", "团队负责人"),
            ("总部在哪里？", "大连"),
            ("酒店每晚最多多少钱？", "800"),
            ("发票要在多久之内提交？", "两周"),
        ],
        doubtful: &[],
        unanswered: &["首席财务官是谁？", "无线网络的密码是什么？"],
    },
    Book {
        language: "zh-Hant",
        text: "# 員工手冊\n\n## 休假\n每位員工每年有25天帶薪年假。年假由團隊主管在三天內批准。三月底之前沒有用完的年假作廢。\n\n\
            ## 出差\n火車訂二等座。飯店每晚最多3000元。發票須在兩週內繳交。\n\n## 辦公室\n總部位於基隆一座舊罐頭工廠的四樓。總部由\
            林怡君於2014年啟用。辦公室早上8點開門。\n",
        answered: &[
            ("年假由誰批准？", "團隊主管"),
            ("誰啟用了總部？", "林怡君"),
            ("總部在哪裡？", "基隆"),
            ("飯店每晚最多多少錢？", "3000"),
            ("發票要在多久之內繳交？", "兩週"),
        ],
        doubtful: &[],
        unanswered: &["財務長是誰？", "無線網路的密碼是什麼？"],
    },
    Book {
        language: "en-for-others",
        text: ENGLISH,
        answered: &[],
        doubtful: &[
            ("酒店每晚最多多少钱？", "120"),
            ("호텔비는 하룻밤에 얼마까지 쓸 수 있나요?", "120"),
        ],
        unanswered: &["財務責任者は誰ですか？", "无线网络的密码是什么？"],
    },
];

/// Every walk of a graph over every book that does not end as it should.
#[expect(clippy::expect_used, reason = "what a test cannot have fails it")]
async fn wrong(graph: &str) -> Vec<String> {
    let flags = ["--embedder", "e5-small"];
    let fixture = Fixture::with_flags(Plan::default(), &flags).await;
    let mut wrong = Vec::new();
    for book in &BOOKS {
        fixture.ingest(book.language, &[("handbook.md", book.text)]).await;
        let answered = book.answered.iter().map(|asked| (asked, WalkStatus::Answered));
        let doubtful = book.doubtful.iter().map(|asked| (asked, WalkStatus::Unverified));
        let answered = answered
            .chain(doubtful)
            .map(|((asked, answer), status)| (*asked, *answer, status));
        let unanswered = book.unanswered.iter().map(|asked| (*asked, "", WalkStatus::Abstained));
        for (asked, answer, status) in answered.chain(unanswered) {
            let result = fixture.ask(question(asked, graph, book.language)).await.expect(asked);
            let is_told = status == WalkStatus::Abstained || result.answer.contains(answer);
            let as_expected = result.status() == status && is_told;
            if !as_expected {
                wrong.push(format!("{asked} → {:?}: {}", result.status(), result.answer));
            }
        }
    }
    wrong
}

#[tokio::test(flavor = "multi_thread")]
async fn self_corrective_rag_answers_in_the_language_of_the_handbook() {
    assert_eq!(wrong("self-corrective-rag").await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn corrective_rag_answers_in_the_language_of_the_handbook() {
    assert_eq!(wrong("corrective-rag").await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn self_rag_answers_in_the_language_of_the_handbook() {
    assert_eq!(wrong("self-rag").await, Vec::<String>::new());
}

/// Not every graph grades the passage relevant: the two languages have no word in common.
#[tokio::test(flavor = "multi_thread")]
async fn a_japanese_question_over_the_english_handbook_is_answered_rightly_or_not_at_all() {
    let fixture = Fixture::with_flags(Plan::default(), &["--embedder", "e5-small"]).await;
    fixture.ingest("en", &[("handbook.md", ENGLISH)]).await;
    for graph in ["self-corrective-rag", "corrective-rag", "self-rag"] {
        let result = fixture
            .ask(question("休暇は誰が承認しますか？", graph, "en"))
            .await
            .unwrap();
        let told = match result.status() {
            WalkStatus::Abstained => true,
            WalkStatus::Unverified => result.answer.contains("head of the team"),
            _ => false,
        };
        assert!(told, "{graph} → {:?}: {}", result.status(), result.answer);
    }
}
