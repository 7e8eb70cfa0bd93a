//! Filter expressions of lists, in both of Compute's forms: `name = "x" AND labels.a = b`, with `!=`, `>`, `<`, `>=`,
//! `<=`, `:`, `NOT`, `OR` and parentheses; and the older `name eq regex`, `name ne regex`.

use regex::Regex;
use serde_json::Value;

use super::error::Refusal;

/// A filter that is understood.
#[derive(Debug)]
pub(crate) enum Filter {
    All,
    Test { field: String, how: How },
    Not(Box<Filter>),
    And(Box<Filter>, Box<Filter>),
    Or(Box<Filter>, Box<Filter>),
}

#[derive(Debug)]
pub(crate) enum How {
    /// The text as a whole; `*` stands for any text.
    Equal(Regex),
    /// Somewhere in the text, without regard of case; `*` alone asks only whether there is a value.
    Has(String),
    /// Ordered as numbers where both are, else as texts.
    Order(&'static str, String),
}

impl Filter {
    /// Reads a filter; the empty one lets everything through.
    pub(crate) fn parse(text: &str) -> Result<Self, Refusal> {
        if text.trim().is_empty() {
            return Ok(Self::All);
        }
        let mut parser = Parser { tokens: tokens(text), place: 0, text };
        let filter = parser.either()?;
        if parser.place < parser.tokens.len() { Err(parser.bad()) } else { Ok(filter) }
    }

    /// Whether an object passes.
    pub(crate) fn passes(&self, object: &Value) -> bool {
        match self {
            Self::All => true,
            Self::Not(inner) => !inner.passes(object),
            Self::And(one, other) => one.passes(object) && other.passes(object),
            Self::Or(one, other) => one.passes(object) || other.passes(object),
            Self::Test { field, how } => values(object, field).iter().any(|value| how.holds(value)),
        }
    }
}

impl How {
    fn holds(&self, value: &str) -> bool {
        match self {
            Self::Equal(pattern) => pattern.is_match(value),
            Self::Has(part) => part == "*" || value.to_lowercase().contains(&part.to_lowercase()),
            Self::Order(operator, bound) => {
                let order = match (value.parse::<f64>(), bound.parse::<f64>()) {
                    (Ok(value), Ok(bound)) => value.total_cmp(&bound),
                    _ => value.cmp(bound.as_str()),
                };
                match *operator {
                    ">" => order.is_gt(),
                    "<" => order.is_lt(),
                    ">=" => order.is_ge(),
                    _ => order.is_le(),
                }
            }
        }
    }
}

/// The texts at a dotted path; lists on the way are looked through.
fn values(object: &Value, path: &str) -> Vec<String> {
    match object {
        Value::Array(items) => items.iter().flat_map(|item| values(item, path)).collect(),
        Value::Object(members) if !path.is_empty() => {
            // A label's key may hold dots: the longest name that fits is taken.
            if let Some(value) = members.get(path) {
                return values(value, "");
            }
            let Some((first, rest)) = path.split_once('.') else { return Vec::new() };
            members.get(first).map(|value| values(value, rest)).unwrap_or_default()
        }
        _ if !path.is_empty() => Vec::new(),
        Value::String(text) => vec![text.clone()],
        Value::Null => Vec::new(),
        other => vec![other.to_string()],
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Open,
    Close,
    Operator(&'static str),
    Word(String),
    Quoted(String),
}

fn tokens(text: &str) -> Vec<Token> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        // The value of an older expression, `name eq a(b|c)`, is a regular expression and runs to the next blank, or to
        // the parenthesis that closes a group around the expression.
        let older = matches!(out.last(), Some(Token::Word(word)) if word == "eq" || word == "ne");
        let operator = ["!=", ">=", "<=", "=", ">", "<", ":"].into_iter().find(|sign| rest.starts_with(sign));
        if first == '"' || first == '\'' {
            let (value, after) = quoted(rest, first);
            out.push(Token::Quoted(value));
            rest = after;
        } else if older {
            let (value, after) = rest.split_at(pattern_end(rest));
            out.push(Token::Word(value.to_owned()));
            rest = after;
        } else if let Some(sign) = operator {
            out.push(Token::Operator(sign));
            rest = &rest[sign.len()..];
        } else if first == '(' || first == ')' {
            out.push(if first == '(' { Token::Open } else { Token::Close });
            rest = &rest[1..];
        } else {
            let ends = |letter: char| letter.is_whitespace() || "()=!<>:\"".contains(letter);
            // A sign that stands alone, such as `!`, is a word that nothing understands.
            let end = rest.find(ends).unwrap_or(rest.len()).max(first.len_utf8());
            out.push(Token::Word(rest[..end].to_owned()));
            rest = &rest[end..];
        }
        rest = rest.trim_start();
    }
    out
}

/// A quoted text without its quotes and escapes, and what follows it.
fn quoted(text: &str, quote: char) -> (String, &str) {
    let mut value = String::new();
    let mut escaped = false;
    for (place, letter) in text.char_indices().skip(1) {
        if !escaped && letter == quote {
            return (value, &text[place + 1..]);
        }
        escaped = !escaped && letter == '\\';
        if !escaped {
            value.push(letter);
        }
    }
    (value, "")
}

/// Where a regular expression ends: at a blank, or at a parenthesis that it has not opened.
fn pattern_end(text: &str) -> usize {
    let mut depth = 0;
    for (place, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' if depth == 0 => return place,
            ')' => depth -= 1,
            letter if letter.is_whitespace() => return place,
            _ => {}
        }
    }
    text.len()
}

struct Parser<'a> {
    tokens: Vec<Token>,
    place: usize,
    text: &'a str,
}

impl Parser<'_> {
    fn bad(&self) -> Refusal {
        Refusal::invalid("filter", self.text, "Invalid list filter expression.")
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.tokens.get(self.place), Some(Token::Word(found)) if found.eq_ignore_ascii_case(word))
    }

    fn either(&mut self) -> Result<Filter, Refusal> {
        let mut left = self.both()?;
        while self.is_word("OR") {
            self.place += 1;
            left = Filter::Or(Box::new(left), Box::new(self.both()?));
        }
        Ok(left)
    }

    /// Expressions side by side are joined by AND as well.
    fn both(&mut self) -> Result<Filter, Refusal> {
        let mut left = self.one()?;
        loop {
            if self.is_word("AND") {
                self.place += 1;
            } else if self.is_word("OR")
                || matches!(self.tokens.get(self.place), None | Some(Token::Close | Token::Operator(_)))
            {
                return Ok(left);
            }
            left = Filter::And(Box::new(left), Box::new(self.one()?));
        }
    }

    fn one(&mut self) -> Result<Filter, Refusal> {
        if self.is_word("NOT") {
            self.place += 1;
            return Ok(Filter::Not(Box::new(self.one()?)));
        }
        let token = self.tokens.get(self.place).cloned();
        self.place += 1;
        match token {
            Some(Token::Open) => {
                let inner = self.either()?;
                if self.tokens.get(self.place) != Some(&Token::Close) {
                    return Err(self.bad());
                }
                self.place += 1;
                Ok(inner)
            }
            Some(Token::Word(field)) => self.test(&field),
            _ => Err(self.bad()),
        }
    }

    fn test(&mut self, field: &str) -> Result<Filter, Refusal> {
        let operator = match self.tokens.get(self.place) {
            Some(Token::Operator(sign)) => *sign,
            Some(Token::Word(word)) if word == "eq" => "eq",
            Some(Token::Word(word)) if word == "ne" => "ne",
            _ => return Err(self.bad()),
        };
        let value = match self.tokens.get(self.place + 1) {
            Some(Token::Word(value) | Token::Quoted(value)) => value.clone(),
            _ => return Err(self.bad()),
        };
        self.place += 2;
        let whole = |pattern: &str| Regex::new(&format!("(?s)^(?:{pattern})$")).map_err(|_| self.bad());
        let test = |how| Filter::Test { field: field.to_owned(), how };
        Ok(match operator {
            "=" => test(How::Equal(whole(&starred(&value))?)),
            "!=" => Filter::Not(Box::new(test(How::Equal(whole(&starred(&value))?)))),
            "eq" => test(How::Equal(whole(&value)?)),
            "ne" => Filter::Not(Box::new(test(How::Equal(whole(&value)?)))),
            ":" => test(How::Has(value)),
            order => test(How::Order(order, value)),
        })
    }
}

fn starred(value: &str) -> String {
    value.split('*').map(regex::escape).collect::<Vec<_>>().join(".*")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn passes(filter: &str) -> bool {
        let object = json!({
            "name": "hub-net", "mtu": 1460, "labels": {"a": "b"}, "description": "warren {\"name\":\"hub\"}",
            "autoCreateSubnetworks": false, "nats": [{"name": "one"}, {"name": "two"}],
        });
        Filter::parse(filter).unwrap().passes(&object)
    }

    #[test]
    fn both_forms_are_understood() {
        let yes = [
            "",
            "name = hub-net",
            "name=\"hub-net\"",
            "name = hub-*",
            "name eq hub-.*",
            "name eq (hub|data)-net",
            "(name eq (hub|data)-net) (mtu >= 1000)",
            "name ne data-net",
            "labels.a = b",
            "labels.a:*",
            "description : \"HUB\"",
            "(name = x) OR (mtu >= 1460)",
            "(name = hub-net) (mtu < 1500)",
            "NOT name = x AND autoCreateSubnetworks = false",
            "nats.name = two",
            "description = \"warren {\\\"name\\\":\\\"hub\\\"}\"",
        ];
        let no = [
            "name = hub",
            "name eq hub",
            "labels.b:*",
            "name != hub-net",
            "mtu > 1460",
            "name = x mtu = 1460",
        ];
        for filter in yes {
            assert!(passes(filter), "{filter}");
        }
        for filter in no {
            assert!(!passes(filter), "{filter}");
        }
        for filter in ["name", "name =", "(name = x", "= x", "name eq [", "name = a )"] {
            assert!(Filter::parse(filter).is_err(), "{filter}");
        }
    }
}
