//! Names that try to be more than names.

#[expect(dead_code, reason = "other tests use the rest")]
mod common;

use serde_json::json;
use warren_diagram::{Options, dot, html, markdown, mermaid, png, space_svg, svg};
use warren_model::topology::Plan;

const NAMES: &[&str] = &[
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "'; alert(1); //",
    "]]></style></svg><script>alert(1)</script>",
    "--></title><script>alert(1)</script>",
    "{{ title }}{% raw %}",
    "javascript:alert(1)",
    "`code` | **bold** [x](javascript:alert(1)) @everyone <b>",
    "```\n# heading",
    "\"]; click n0 \"javascript:alert(1)\"",
    "end\nsubgraph x",
    "a\" ]; system \"x\\",
    "abc\u{202e}gnp.exe\u{2066}",
    "\u{0}\u{1b}[31m\u{7}\u{feff}",
    "&lt;script&gt; &amp; &#60;",
    "שלום العربية 日本語 🎉",
    "%%{init: {'securityLevel':'loose'}}%%",
    "${x} #{y} #quot;",
];

fn hostile() -> Plan {
    let mut all = Vec::new();
    let long = "W".repeat(10_000);
    for (at, name) in NAMES.iter().copied().chain([long.as_str()]).enumerate() {
        all.push(common::change(
            &format!("aws_vpc.n[{at}]"),
            "create",
            json!({"id": format!("vpc-{at}"), "cidr_block": format!("10.{at}.0.0/16"), "tags": {"Name": name}}),
        ));
        all.push(common::change(
            &format!("aws_subnet.n[\"{name}\"]"),
            "create",
            json!({"vpc_id": format!("vpc-{at}"), "cidr_block": format!("10.{at}.0.0/24"), "tags": {"Name": name}, "availability_zone": name}),
        ));
        all.push(common::change(
            &format!("aws_vpc_endpoint.n[{at}]"),
            "create",
            json!({"id": format!("e-{at}"), "vpc_id": format!("vpc-{at}"), "service_name": name, "tags": {"Name": name}}),
        ));
    }
    common::read("plan.json", &common::plan(all))
}

fn options() -> Options {
    Options { title: Some(NAMES.join(" ")), diff: true, ..Options::default() }
}

/// Elements and attributes of a document that is well-formed XML.
fn elements(text: &str) -> Vec<(String, Vec<String>)> {
    use quick_xml::events::Event;
    let mut reader = quick_xml::Reader::from_str(text);
    let mut found = Vec::new();
    loop {
        match reader.read_event() {
            Ok(Event::Start(start) | Event::Empty(start)) => {
                let name = start.name().as_ref().to_owned();
                let attributes = start
                    .attributes()
                    .map(|attribute| attribute.expect("a good attribute").key.as_ref().to_owned());
                found.push((name, attributes.collect()));
            }
            Ok(Event::Eof) => return found,
            Ok(_) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn svg_holds_nothing_that_runs() {
    for text in [svg(&hostile(), &options()), space_svg(&hostile(), &options())] {
        for (name, attributes) in elements(&text) {
            assert!(
                ["svg", "title", "style", "rect", "g", "path", "text", "circle"].contains(&name.as_str()),
                "{name}"
            );
            for attribute in attributes {
                assert!(!attribute.starts_with("on") && !attribute.contains("href"), "{attribute}");
            }
        }
        assert!(text.len() < 400_000, "10 kB names are cut: {}", text.len());
        for c in ['\u{202e}', '\u{2066}', '\u{0}', '\u{1b}'] {
            assert!(!text.contains(c), "{c:?}");
        }
    }
}

#[test]
fn html_has_one_script_and_it_is_ours() {
    let page = html(&hostile(), &options()).unwrap();
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("</script").count(), 1);
    assert!(!page.contains("<img"));
    assert!(!page.contains("url(") && !page.contains("@import") && !page.contains("fetch("));
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn markdown_shows_names_and_nothing_else() {
    let text = markdown(&hostile(), &options()).unwrap();
    let (before, picture) = text.split_once("```mermaid\n").unwrap();
    for bad in ["<script", "<img", "](", "**bold", "@everyone", "`", "\n# heading"] {
        assert!(!before.contains(bad), "{bad}");
    }
    // The fence of the flowchart is closed by us alone.
    assert_eq!(picture.matches("```").count(), 1);
}

#[test]
fn mermaid_and_dot_labels_stay_labels() {
    let text = mermaid(&hostile(), &options());
    for line in text.lines() {
        let words = line.trim_start();
        assert!(!words.starts_with("click") && !words.starts_with("%%"), "{line}");
        assert!(line.matches('"').count() % 2 == 0, "{line}");
        assert!(!line.contains('<') && !line.contains("#quot"), "{line}");
    }
    for line in dot(&hostile(), &options()).lines() {
        let quotes = line.replace("\\\\", "").replace("\\\"", "").matches('"').count();
        assert!(quotes % 2 == 0, "{line}");
    }
}

#[test]
fn png_is_drawn_all_the_same() {
    let text = svg(&hostile(), &Options { theme: warren_diagram::Theme::Dark, ..options() });
    assert!(png(&text).unwrap().starts_with(b"\x89PNG"));
}
