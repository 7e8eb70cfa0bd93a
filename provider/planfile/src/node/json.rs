//! JSON (RFC 8259) with the position of every value, which `serde_json` does not report.

use super::{Entry, Key, Kind, MAX_DEPTH, Node, Outline, Want, number, syntax};
use crate::InputError;
use std::borrow::Cow;
use warren_model::Position;

/// Reads one JSON text.
pub(crate) fn parse(file: &str, text: &str) -> Result<Node, InputError> {
    parse_outline(file, text, &Outline::ALL)
}

/// Reads the parts of one JSON text that an outline names. The rest must be JSON as well.
pub(crate) fn parse_outline(file: &str, text: &str, outline: &'static Outline) -> Result<Node, InputError> {
    let keys = vec![None; KEYS];
    let (entries, items) = (Vec::new(), Vec::new());
    let mut reader = Reader { bytes: text.as_bytes(), text, keys, entries, items, at: 0, line: 1, start: 0 };
    let result = reader.value(0, outline).and_then(|node| {
        reader.space();
        if reader.at == reader.bytes.len() { Ok(node) } else { Err("unexpected text after the JSON value") }
    });
    result.map_err(|message| syntax(file, Some(reader.position()), format!("not valid JSON: {message}")))
}

struct Reader<'a> {
    bytes: &'a [u8],
    text: &'a str,
    /// Keys that occurred, each at the place that [`slot`] gives it.
    keys: Vec<Option<Key>>,
    /// The entries of the maps and the items of the lists that are being read, the innermost last. Each leaves with a copy of the
    /// right size.
    entries: Vec<Entry>,
    items: Vec<Node>,
    at: usize,
    /// Number of the line, from 1, and where it starts. A line ends between tokens only.
    line: usize,
    start: usize,
}

/// Number of remembered keys. A large plan has about as many different ones in what is kept of it.
const KEYS: usize = 1024;

const TOO_DEEP: &str = "values are nested more than 128 levels deep";

type Step<T> = Result<T, &'static str>;

impl<'a> Reader<'a> {
    fn space(&mut self) {
        while let Some(byte @ (b' ' | b'\t' | b'\n' | b'\r')) = self.peek() {
            self.at += 1;
            if byte == b'\n' {
                self.line += 1;
                self.start = self.at;
            }
        }
    }

    fn position(&self) -> Position {
        let before = self.text.get(self.start..self.at).unwrap_or_default();
        // Counting characters is quadratic in a file with one huge line, so count bytes there.
        let column = if before.len() > 1000 { before.len() } else { before.chars().count() };
        Position { line: number(self.line), column: number(column + 1) }
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

    fn value(&mut self, depth: usize, outline: &'static Outline) -> Step<Node> {
        if depth > MAX_DEPTH {
            return Err(TOO_DEEP);
        }
        self.space();
        let at = self.position();
        let kind = match self.peek() {
            Some(b'{') => Kind::Map(self.map(depth, outline)?),
            Some(b'[') => Kind::List(self.list(depth, outline)?),
            Some(b'"') => Kind::Text(self.string()?),
            Some(b't') => self.word("true", Kind::Bool(true))?,
            Some(b'f') => self.word("false", Kind::Bool(false))?,
            Some(b'n') => self.word("null", Kind::Null)?,
            Some(b'-' | b'0'..=b'9') => Kind::Number(self.number()?.to_owned()),
            Some(_) => return Err("expected a value"),
            None => return Err("unexpected end of file"),
        };
        Ok(Node { kind, at })
    }

    /// Passes over a value.
    fn skip(&mut self, depth: usize) -> Step<()> {
        if depth > MAX_DEPTH {
            return Err(TOO_DEEP);
        }
        self.space();
        match self.peek() {
            Some(b'{') => self.members(|reader| {
                reader.pass_string()?;
                reader.colon()?;
                reader.skip(depth + 1)
            }),
            Some(b'[') => self.elements(|reader| reader.skip(depth + 1)),
            Some(b'"') => self.pass_string(),
            Some(b't') => self.word("true", ()),
            Some(b'f') => self.word("false", ()),
            Some(b'n') => self.word("null", ()),
            Some(b'-' | b'0'..=b'9') => self.number().map(|_| ()),
            Some(_) => Err("expected a value"),
            None => Err("unexpected end of file"),
        }
    }

    fn word<T>(&mut self, word: &str, kind: T) -> Step<T> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err("expected a value");
        }
        self.at += word.len();
        Ok(kind)
    }

    fn map(&mut self, depth: usize, outline: &'static Outline) -> Step<Vec<Entry>> {
        let first = self.entries.len();
        let mut later = Vec::new();
        self.members(|reader| {
            let key_at = reader.position();
            let key = reader.raw()?;
            let key = reader.key(&key);
            reader.colon()?;
            let value = match (outline.of)(&key, &reader.entries[first..]) {
                Want::Keep(inner) => reader.value(depth + 1, inner)?,
                Want::Skip => reader.passed(depth + 1)?,
                Want::Later { unless, outline } => {
                    reader.space();
                    later.push((
                        reader.entries.len() - first,
                        unless,
                        outline,
                        (reader.at, reader.line, reader.start),
                    ));
                    reader.passed(depth + 1)?
                }
            };
            reader.entries.push(Entry { key, key_at, value });
            Ok(())
        })?;
        let mut entries = self.entries.split_off(first);
        let end = (self.at, self.line, self.start);
        for (index, unless, outline, place) in later {
            if entries.iter().all(|entry| entry.key != unless) {
                (self.at, self.line, self.start) = place;
                entries[index].value = self.value(depth + 1, outline)?;
            }
        }
        (self.at, self.line, self.start) = end;
        (outline.done)(&mut entries);
        Ok(entries)
    }

    fn passed(&mut self, depth: usize) -> Step<Node> {
        self.space();
        let at = self.position();
        self.skip(depth)?;
        Ok(Node { kind: Kind::Null, at })
    }

    fn list(&mut self, depth: usize, outline: &'static Outline) -> Step<Vec<Node>> {
        let first = self.items.len();
        self.elements(|reader| {
            let item = reader.value(depth + 1, outline)?;
            reader.items.push(item);
            Ok(())
        })?;
        Ok(self.items.split_off(first))
    }

    /// Visits the members of a map, each a key, a colon, and a value.
    fn members(&mut self, mut visit: impl FnMut(&mut Self) -> Step<()>) -> Step<()> {
        self.at += 1;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.space();
            visit(self)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                _ => break,
            }
        }
        self.expect(b'}', "expected a comma or a closing brace")
    }

    fn colon(&mut self) -> Step<()> {
        self.space();
        self.expect(b':', "expected a colon")
    }

    /// Visits the values of a list.
    fn elements(&mut self, mut visit: impl FnMut(&mut Self) -> Step<()>) -> Step<()> {
        self.at += 1;
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            visit(self)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                _ => break,
            }
        }
        self.expect(b']', "expected a comma or a closing bracket")
    }

    /// The shared form of a key.
    fn key(&mut self, text: &str) -> Key {
        let known = &mut self.keys[slot(text)];
        if let Some(known) = known.as_ref().filter(|known| *known == text) {
            return known.clone();
        }
        known.insert(Key::from(text)).clone()
    }

    fn number(&mut self) -> Step<&'a str> {
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
        Ok(&self.text[start..self.at])
    }

    fn digits(&mut self) -> Step<()> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err("expected a digit") } else { Ok(()) }
    }

    fn string(&mut self) -> Step<String> {
        Ok(self.raw()?.into_owned())
    }

    /// A string, which is a part of the text if it has no escape sequences.
    fn raw(&mut self) -> Step<Cow<'a, str>> {
        self.expect(b'"', "expected a string in double quotes")?;
        let mut out = Cow::Borrowed("");
        loop {
            let start = self.at;
            self.plain();
            out += &self.text[start..self.at];
            match self.mark()? {
                Some(c) => out.to_mut().push(c),
                None => return Ok(out),
            }
        }
    }

    /// Passes over a string.
    fn pass_string(&mut self) -> Step<()> {
        self.expect(b'"', "expected a string in double quotes")?;
        loop {
            self.plain();
            if self.mark()?.is_none() {
                return Ok(());
            }
        }
    }

    /// Passes over the characters of a string up to a quote, an escape sequence, or a control character.
    fn plain(&mut self) {
        while let Some(word) = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk) {
            match marked(u64::from_le_bytes(*word)) {
                0 => self.at += word.len(),
                marks => {
                    // The lowest mark is that of the first byte.
                    self.at += marks.trailing_zeros() as usize / 8;
                    return;
                }
            }
        }
        while self.peek().is_some_and(|byte| byte != b'"' && byte != b'\\' && byte >= 0x20) {
            self.at += 1;
        }
    }

    /// What stops plain characters: the character of an escape sequence, or none at the end of the string.
    fn mark(&mut self) -> Step<Option<char>> {
        match self.peek() {
            Some(b'"') => {
                self.at += 1;
                Ok(None)
            }
            Some(b'\\') => self.escape().map(Some),
            Some(_) => Err("control character in a string"),
            None => Err("unterminated string"),
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

/// The bytes of a word that are quotes, backslashes, or control characters: the highest bit of each, up to the first one. Bits above
/// that are not reliable.
fn marked(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word & HIGH;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    below(word, 0x20) | equal(b'"') | equal(b'\\')
}

/// The place of a key among the remembered ones.
fn slot(text: &str) -> usize {
    // FNV-1a. Two keys at one place displace each other, and are only stored more often.
    let hash =
        text.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash ^ (hash >> 16)) as usize % KEYS
}
