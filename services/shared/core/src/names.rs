//! Lists of names in messages.

/// Most names that a message lists.
const MAX_NAMES: usize = 20;
/// Most bytes that they have together; the first is listed whatever its length.
const MAX_BYTES: usize = 512;

/// Names as a message lists them, by commas: as many as have room, and how many more there are.
pub fn list_names<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> String {
    let mut list = String::new();
    let mut names = names.into_iter();
    let mut listed = 0;
    while let Some(name) = names.next() {
        let name = name.as_ref();
        if listed == MAX_NAMES || (listed > 0 && list.len() + name.len() > MAX_BYTES) {
            return format!("{list} and {} more", names.count() + 1);
        }
        if listed > 0 {
            list.push_str(", ");
        }
        list.push_str(name);
        listed += 1;
    }
    list
}

#[cfg(test)]
mod tests;
