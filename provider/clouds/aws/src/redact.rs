//! Removes credentials from texts.

/// `text` without anything that looks like a credential. Access key IDs keep their first and last four
/// characters; secret keys and session tokens, which a signature error quotes, are removed. ARNs stay.
pub(crate) fn redact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, word) in text.split(' ').enumerate() {
        if index > 0 {
            out.push(' ');
        }
        if word.contains("arn:") {
            out.push_str(word);
            continue;
        }
        let mut rest = word;
        while !rest.is_empty() {
            let end = rest.find(|c| !is_token(c)).unwrap_or(rest.len());
            let (token, tail) = rest.split_at(end);
            push_redacted(&mut out, token);
            let mut others = tail.chars();
            if let Some(other) = others.next() {
                out.push(other);
            }
            rest = others.as_str();
        }
    }
    out
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '%' | '_' | '-')
}

fn push_redacted(out: &mut String, token: &str) {
    let key_id = token.len() == 20 && (token.starts_with("AKIA") || token.starts_with("ASIA"));
    let mixed = token.bytes().any(|b| b.is_ascii_uppercase())
        && token.bytes().any(|b| b.is_ascii_lowercase())
        && token.bytes().any(|b| b.is_ascii_digit());
    if key_id {
        out.push_str(&format!("{}...{}", &token[..4], &token[16..]));
    } else if mixed && token.len() >= 40 {
        out.push_str("(redacted)");
    } else {
        out.push_str(token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_redacted_and_arns_are_not() {
        let token = "IQoJb3JpZ2luX2VjEXAMPLE1234567890abcdefghijklmnopqrstuvwxyz";
        let text = format!(
            "key AKIAIOSFODNN7EXAMPLE, secret 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY0', \
             x-amz-security-token:{token} for arn:aws:sts::1:assumed-role/AWSReservedSSO_Admin_0123456789abcdef/someone"
        );
        insta::assert_snapshot!(redact(&text));
    }
}
