//! JSON (RFC 8259) with the position of every value, which `serde_json` does not report.

use super::{Entry, Kind, Lines, MAX_DEPTH, Node, syntax};
use crate::InputError;

/// Reads one JSON text.
pub(crate) fn parse(file: &str, text: &str) -> Result<Node, InputError> {
    let mut reader = Reader { bytes: text.as_bytes(), text, lines: Lines::new(text), at: 0 };
    let result = reader.value(0).and_then(|node| {
        reader.space();
        if reader.at == reader.bytes.len() { Ok(node) } else { Err("unexpected text after the JSON value") }
    });
    result.map_err(|message| {
        syntax(file, Some(reader.lines.at(reader.at)), format!("not valid JSON: {message}"))
    })
}

struct Reader<'a> {
    bytes: &'a [u8],
    text: &'a str,
    lines: Lines<'a>,
    at: usize,
}

type Step<T> = Result<T, &'static str>;

impl Reader<'_> {
    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8, message: &'static str) -> Step<()> {
        if self.peek() != Some(byte) {
            return Err(message);
        }
        self.at += 1;
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Step<Node> {
        if depth > MAX_DEPTH {
            return Err("values are nested more than 128 levels deep");
        }
        self.space();
        let at = self.lines.at(self.at);
        let kind = match self.peek() {
            Some(b'{') => Kind::Map(self.map(depth)?),
            Some(b'[') => Kind::List(self.list(depth)?),
            Some(b'"') => Kind::Text(self.string()?),
            Some(b't') => self.word("true", Kind::Bool(true))?,
            Some(b'f') => self.word("false", Kind::Bool(false))?,
            Some(b'n') => self.word("null", Kind::Null)?,
            Some(b'-' | b'0'..=b'9') => Kind::Number(self.number()?),
            Some(_) => return Err("expected a value"),
            None => return Err("unexpected end of file"),
        };
        Ok(Node { kind, at })
    }

    fn word(&mut self, word: &str, kind: Kind) -> Step<Kind> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err("expected a value");
        }
        self.at += word.len();
        Ok(kind)
    }

    fn map(&mut self, depth: usize) -> Step<Vec<Entry>> {
        self.at += 1;
        let mut entries = Vec::new();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(entries);
        }
        loop {
            self.space();
            let key_at = self.lines.at(self.at);
            let key = self.string()?;
            self.space();
            self.expect(b':', "expected a colon")?;
            let value = self.value(depth + 1)?;
            entries.push(Entry { key, key_at, value });
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                _ => break,
            }
        }
        self.expect(b'}', "expected a comma or a closing brace")?;
        Ok(entries)
    }

    fn list(&mut self, depth: usize) -> Step<Vec<Node>> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(items);
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                _ => break,
            }
        }
        self.expect(b']', "expected a comma or a closing bracket")?;
        Ok(items)
    }

    fn number(&mut self) -> Step<String> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(self.text[start..self.at].to_owned())
    }

    fn digits(&mut self) -> Step<()> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err("expected a digit") } else { Ok(()) }
    }

    fn string(&mut self) -> Step<String> {
        self.expect(b'"', "expected a string in double quotes")?;
        let mut out = String::new();
        loop {
            let start = self.at;
            while self.peek().is_some_and(|byte| byte != b'"' && byte != b'\\' && byte >= 0x20) {
                self.at += 1;
            }
            out.push_str(&self.text[start..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) => return Err("control character in a string"),
                None => return Err("unterminated string"),
            }
        }
    }

    fn escape(&mut self) -> Step<char> {
        let byte = self.bytes.get(self.at + 1).copied();
        self.at += 2;
        Ok(match byte {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let first = self.unit()?;
                let code = if (0xd800..0xdc00).contains(&first) && self.bytes[self.at..].starts_with(b"\\u") {
                    self.at += 2;
                    let second = self.unit()?;
                    if !(0xdc00..0xe000).contains(&second) {
                        return Err("unpaired surrogate in a string");
                    }
                    0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
                } else {
                    first
                };
                char::from_u32(code).ok_or("unpaired surrogate in a string")?
            }
            _ => {
                self.at = self.at.min(self.bytes.len());
                return Err("unknown escape sequence in a string");
            }
        })
    }

    fn unit(&mut self) -> Step<u32> {
        let digits = self.bytes.get(self.at..self.at + 4).ok_or("expected four hexadecimal digits")?;
        let mut code = 0;
        for &digit in digits {
            let value = char::from(digit).to_digit(16).ok_or("expected four hexadecimal digits")?;
            code = code * 16 + value;
        }
        self.at += 4;
        Ok(code)
    }
}
