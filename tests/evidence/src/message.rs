//! Messages without what differs from one call to the next.

/// The message with `*` for each word that holds a digit: IDs, ranges, names and numbers.
pub fn form(message: &str) -> String {
    let is_word = |letter: char| letter.is_alphanumeric() || "-_./:@".contains(letter);
    let mut out = String::new();
    let mut rest = message;
    while let Some(start) = rest.find(is_word) {
        out.push_str(&rest[..start]);
        let end = rest[start..].find(|letter| !is_word(letter)).map_or(rest.len(), |length| start + length);
        let word = &rest[start..end];
        // A full stop ends a sentence, not a word.
        let (word, stop) = word.strip_suffix('.').map_or((word, ""), |word| (word, "."));
        let varies = word.contains(|letter: char| letter.is_ascii_digit());
        out.push_str(if varies { "*" } else { word });
        out.push_str(stop);
        rest = &rest[end..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::form;

    #[test]
    fn what_varies_is_left_out() {
        assert_eq!(form("The CIDR '10.0.102.0/24' conflicts"), "The CIDR '*' conflicts");
        assert_eq!(form("The vpc 'vpc-0f52' has dependencies."), "The vpc '*' has dependencies.");
        assert_eq!(form("of vpc-1."), "of *.");
        assert_eq!(form("No digits: none."), "No digits: none.");
    }
}
