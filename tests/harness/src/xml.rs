//! A small XML tree, enough for what AWS sends: elements hold either text or elements.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, bail};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// One element with its attributes, and either children or text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) children: Vec<Element>,
    pub(crate) text: String,
}

impl Element {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    pub(crate) fn leaf(name: &str, text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::new(name) }
    }

    /// Reads one document.
    ///
    /// # Errors
    /// It is not XML.
    pub fn parse(source: &str) -> Result<Self> {
        let mut reader = Reader::from_str(source);
        let mut open: Vec<Element> = Vec::new();
        loop {
            match reader.read_event().context("malformed XML")? {
                Event::Start(start) => open.push(opened(&start)?),
                Event::Empty(start) => {
                    let element = opened(&start)?;
                    match open.last_mut() {
                        Some(parent) => parent.children.push(element),
                        None => return Ok(element),
                    }
                }
                Event::End(_) => {
                    let mut element = open.pop().context("an XML element closes that was not open")?;
                    if !element.children.is_empty() {
                        element.text.clear();
                    }
                    match open.last_mut() {
                        Some(parent) => parent.children.push(element),
                        None => return Ok(element),
                    }
                }
                Event::Text(text) => push_text(&mut open, &text.xml10_content()),
                Event::CData(data) => push_text(&mut open, &data.xml10_content()),
                Event::GeneralRef(reference) => {
                    let resolved = match reference.resolve_char_ref()? {
                        Some(character) => character.to_string(),
                        None => named_entity(&reference.xml10_content())?.to_owned(),
                    };
                    push_text(&mut open, &resolved);
                }
                Event::Eof => bail!("the XML document ends early"),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            }
        }
    }

    /// The document as text, with the XML declaration AWS sends.
    pub(crate) fn document(&self) -> String {
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        let _ = write!(out, "<{}", self.name);
        for (name, value) in &self.attributes {
            let _ = write!(out, " {name}=\"{}\"", quick_xml::escape::escape(value.as_str()));
        }
        if self.children.is_empty() && self.text.is_empty() {
            out.push_str("/>");
            return;
        }
        out.push('>');
        out.push_str(&quick_xml::escape::escape(self.text.as_str()));
        for child in &self.children {
            child.write(out);
        }
        let _ = write!(out, "</{}>", self.name);
    }

    /// The first child with this name.
    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    pub(crate) fn child_mut(&mut self, name: &str) -> Option<&mut Element> {
        self.children.iter_mut().find(|child| child.name == name)
    }

    /// The text at a path of child names separated by `/`; a missing element has the empty text.
    pub fn text_at(&self, path: &str) -> &str {
        path.split('/').try_fold(self, |at, name| at.child(name)).map_or("", |found| found.text.as_str())
    }

    /// The children of the child `set`, which AWS names `item` (EC2) or `member` (STS).
    pub fn items(&self, set: &str) -> impl Iterator<Item = &Element> {
        self.child(set).into_iter().flat_map(|found| found.children.iter())
    }

    /// Gives the child `name` this text, adding the child where it is missing.
    pub(crate) fn set_text(&mut self, name: &str, text: &str) {
        match self.child_mut(name) {
            Some(child) => text.clone_into(&mut child.text),
            None => self.children.push(Element::leaf(name, text)),
        }
    }

    /// Every text at or below this element.
    pub fn texts(&self) -> Vec<&str> {
        let mut found: Vec<&str> = self.children.iter().flat_map(Element::texts).collect();
        if !self.text.is_empty() {
            found.push(&self.text);
        }
        found
    }

    /// The tags of an EC2 item, from its `tagSet`.
    pub fn tags(&self) -> impl Iterator<Item = (&str, &str)> {
        self.items("tagSet").map(|tag| (tag.text_at("key"), tag.text_at("value")))
    }
}

fn opened(start: &BytesStart<'_>) -> Result<Element> {
    let mut element = Element::new(&start.name().as_ref().owned_name());
    for attribute in start.attributes() {
        let attribute = attribute.context("malformed XML attribute")?;
        let value = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0)?.into_owned();
        element.attributes.push((attribute.key.as_ref().owned_name(), value));
    }
    Ok(element)
}

fn push_text(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

fn named_entity(name: &str) -> Result<&'static str> {
    Ok(match name {
        "lt" => "<",
        "gt" => ">",
        "amp" => "&",
        "apos" => "'",
        "quot" => "\"",
        other => bail!("unknown XML entity `{other}`"),
    })
}

/// Names arrive as text or bytes depending on the reader; both become owned text.
trait OwnedName {
    fn owned_name(&self) -> String;
}

impl OwnedName for [u8] {
    fn owned_name(&self) -> String {
        String::from_utf8_lossy(self).into_owned()
    }
}

impl OwnedName for str {
    fn owned_name(&self) -> String {
        self.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_what_it_writes() {
        let source = "<?xml version=\"1.0\"?>\n<a x=\"1 &amp; 2\"><b>&lt;&#65; &amp; \"c\"</b>\n  <set><item/><item>t</item></set><![CDATA[]]></a>";
        let tree = Element::parse(source).unwrap();
        assert_eq!(tree.text_at("b"), "<A & \"c\"");
        assert_eq!(tree.attributes, [("x".to_owned(), "1 & 2".to_owned())]);
        assert_eq!(tree.items("set").count(), 2);
        assert_eq!(Element::parse(&tree.document()).unwrap(), tree);
    }

    #[test]
    fn refuses_what_is_not_xml() {
        for source in ["", "<a>", "</a>", "<a>&nbsp;</a>", "<!doctype html>\n<html lang=en>"] {
            assert!(Element::parse(source).is_err(), "{source}");
        }
    }
}
