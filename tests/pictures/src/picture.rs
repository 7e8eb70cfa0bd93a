//! The texts of an SVG picture with the boxes around them, and what must not touch.

use anyhow::{Context as _, Result};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// A rectangle in the units of the picture.
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize, serde::Serialize)]
pub struct Area {
    /// Left.
    pub x: f64,
    /// Top.
    pub y: f64,
    /// Width.
    pub w: f64,
    /// Height.
    pub h: f64,
}

/// Differences that no reader sees, as rounding of renderers makes them.
const SLACK: f64 = 0.5;

impl Area {
    /// Whether the two share more than a line.
    pub fn touches(&self, other: &Area) -> bool {
        self.x + SLACK < other.x + other.w
            && other.x + SLACK < self.x + self.w
            && self.y + SLACK < other.y + other.h
            && other.y + SLACK < self.y + self.h
    }

    /// Whether `other` is inside.
    pub fn holds(&self, other: &Area) -> bool {
        self.x <= other.x + SLACK
            && self.y <= other.y + SLACK
            && other.x + other.w <= self.x + self.w + SLACK
            && other.y + other.h <= self.y + self.h + SLACK
    }
}

/// A text and the box that it is in.
#[derive(Debug, Clone, PartialEq)]
pub struct Text {
    /// What it says.
    pub text: String,
    /// The nearest box around it, or the page.
    pub card: Area,
}

/// What a picture contains.
#[derive(Debug, Clone, Default)]
pub struct Picture {
    /// Texts, in the order of the file.
    pub texts: Vec<Text>,
    /// Signs of changes.
    pub signs: Vec<Area>,
    /// Edges of boxes.
    pub boxes: Vec<Area>,
    /// Width and height of the page.
    pub page: (f64, f64),
    /// Corners of each link.
    pub links: Vec<Vec<(f64, f64)>>,
}

impl Picture {
    /// Reads an SVG picture of this project.
    ///
    /// # Errors
    /// The text is not XML, or an attribute is not a number.
    pub fn read(svg: &str) -> Result<Self> {
        let mut reader = Reader::from_str(svg);
        let mut picture = Picture::default();
        // The box of each open group, and whether a text or its title is open.
        let mut groups: Vec<Option<Area>> = Vec::new();
        let (mut text, mut title) = (false, false);
        loop {
            match reader.read_event()? {
                Event::Eof => break,
                Event::Start(tag) => match tag.name().as_ref() {
                    "g" => groups.push(None),
                    "text" => {
                        let page = Area { x: 0.0, y: 0.0, w: picture.page.0, h: picture.page.1 };
                        let card = groups.iter().rev().copied().flatten().next().unwrap_or(page);
                        picture.texts.push(Text { text: String::new(), card });
                        text = true;
                    }
                    "title" => title = true,
                    "svg" => picture.page = (number(&tag, "width")?, number(&tag, "height")?),
                    _ => {}
                },
                Event::End(tag) => match tag.name().as_ref() {
                    "g" => drop(groups.pop()),
                    "text" => text = false,
                    "title" => title = false,
                    _ => {}
                },
                Event::Empty(tag) => picture.shape(&tag, &mut groups)?,
                Event::Text(part) if text && !title => {
                    if let Some(last) = picture.texts.last_mut() {
                        last.text.push_str(&part);
                    }
                }
                Event::GeneralRef(part) if text && !title => {
                    if let Some(last) = picture.texts.last_mut() {
                        last.text.push_str(&part);
                    }
                }
                _ => {}
            }
        }
        Ok(picture)
    }

    fn shape(&mut self, tag: &BytesStart<'_>, groups: &mut [Option<Area>]) -> Result<()> {
        let class = value(tag, "class")?.unwrap_or_default();
        match tag.name().as_ref() {
            "rect" if class.starts_with("box ") => {
                let area = Area {
                    x: number(tag, "x")?,
                    y: number(tag, "y")?,
                    w: number(tag, "width")?,
                    h: number(tag, "height")?,
                };
                self.boxes.push(area);
                if let Some(group @ None) = groups.last_mut() {
                    *group = Some(area);
                }
            }
            "circle" if class.starts_with("fill ") => {
                let (x, y, r) = (number(tag, "cx")?, number(tag, "cy")?, number(tag, "r")?);
                self.signs.push(Area { x: x - r, y: y - r, w: 2.0 * r, h: 2.0 * r });
            }
            "path" if class.starts_with("line ") => {
                let path = value(tag, "d")?.unwrap_or_default();
                let corners = path.split(['M', 'L']).filter(|part| !part.is_empty()).map(|part| {
                    let (x, y) = part.split_once(' ')?;
                    Some((x.parse().ok()?, y.parse().ok()?))
                });
                // A path with other commands is no link.
                self.links.extend(corners.collect::<Option<Vec<_>>>());
            }
            _ => {}
        }
        Ok(())
    }

    /// Everything that is wrong with the places of texts, as a renderer reports them: one area for each text, in order.
    pub fn faults(&self, areas: &[Area]) -> Vec<String> {
        let mut faults = Vec::new();
        if areas.len() != self.texts.len() {
            faults.push(format!("{} texts have {} areas", self.texts.len(), areas.len()));
        }
        let both: Vec<(&Text, &Area)> = self.texts.iter().zip(areas).collect();
        for (at, (text, area)) in both.iter().enumerate() {
            if area.w <= 0.0 || area.h <= 0.0 {
                faults.push(format!("{:?} is not drawn", text.text));
            }
            if !text.card.holds(area) {
                faults.push(format!("{:?} {area:?} leaves its box {:?}", text.text, text.card));
            }
            for (other, place) in &both[at + 1..] {
                if area.touches(place) {
                    faults.push(format!("{:?} {area:?} lies on {:?} {place:?}", text.text, other.text));
                }
            }
            if self.signs.iter().any(|sign| sign.touches(area)) {
                faults.push(format!("{:?} lies on the sign of a change", text.text));
            }
        }
        faults
    }
}

fn value(tag: &BytesStart<'_>, name: &str) -> Result<Option<String>> {
    let Some(found) = tag.try_get_attribute(name)? else { return Ok(None) };
    Ok(Some(found.normalized_value(quick_xml::XmlVersion::Implicit1_0)?.into_owned()))
}

fn number(tag: &BytesStart<'_>, name: &str) -> Result<f64> {
    let text = value(tag, name)?.unwrap_or_else(|| "0".to_owned());
    text.parse().with_context(|| format!("{name}={text:?}"))
}
