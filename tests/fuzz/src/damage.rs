//! Damage at random.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// One of `wholes` with a few of its bytes changed, some cut off or doubled, and some of `words` put between, once or many
/// times in a row. Now and then it stays whole.
///
/// # Panics
/// Where `wholes` is empty.
pub fn damaged<B, W>(
    wholes: impl IntoIterator<Item = B>,
    words: impl IntoIterator<Item = W>,
) -> impl Strategy<Value = Vec<u8>>
where
    B: Into<Vec<u8>>,
    W: Into<Vec<u8>>,
{
    let wholes: Vec<Vec<u8>> = wholes.into_iter().map(Into::into).collect();
    let words: Vec<Vec<u8>> = words.into_iter().map(Into::into).collect();
    let changes = vec((any::<Index>(), any::<u8>()), 0..8);
    let times = prop_oneof![8 => 1_usize..4, 1 => 1_usize..2000];
    let put = vec((any::<Index>(), any::<Index>(), times), 0..5);
    let parts = (any::<Index>(), any::<Index>(), 0..4_u8);
    (proptest::sample::select(wholes), changes, parts, put).prop_map(move |(mut bytes, changes, parts, put)| {
        // A place in what may be empty.
        let place = |place: &Index, bytes: &[u8]| place.index(bytes.len() + 1);
        for (at, byte) in changes {
            let at = place(&at, &bytes);
            if let Some(changed) = bytes.get_mut(at) {
                *changed = byte;
            }
        }
        let (from, to, kind) = parts;
        let (from, to) = (place(&from, &bytes), place(&to, &bytes));
        let (from, to) = (from.min(to), from.max(to));
        match kind {
            0 => drop(bytes.drain(from..to)),
            1 => {
                let doubled = bytes[from..to].to_vec();
                bytes.splice(to..to, doubled);
            }
            _ => {}
        }
        for (at, word, times) in put.into_iter().filter(|_| !words.is_empty()) {
            let at = place(&at, &bytes);
            bytes.splice(at..at, words[word.index(words.len())].repeat(times));
        }
        bytes
    })
}
