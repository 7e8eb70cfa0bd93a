//! No text of any picture lies on another text or on a sign, or leaves its box, in Chromium, Firefox and librsvg.

#[path = "../../../provider/diagram/tests/common/mod.rs"]
mod common;

use serde_json::json;
use warren_pictures::browser::Browser;
use warren_pictures::picture::{Area, Picture};
use warren_pictures::{corpus, librsvg};

/// Measures every text of the pictures in the page, one picture after the other.
const MEASURE: &str = "
    await document.fonts.ready;
    const out = [];
    for (let at = 0; at < count; at++) {
        const holder = document.createElement('div');
        holder.innerHTML = await (await fetch('/' + at)).text();
        document.body.append(holder);
        // Not every renderer knows this attribute, so no layout may need it.
        holder.querySelectorAll('text').forEach((text) => text.removeAttribute('textLength'));
        out.push([...holder.querySelectorAll('text')].map((text) => {
            const { x, y, width, height } = text.getBBox();
            return { x, y, w: width, h: height };
        }));
        holder.remove();
    }
    return out;";

/// Names in scripts that DejaVu Sans has and has not, beside ranges of every length.
const NAMES: &[&str] = &[
    "a-name-that-says-team-stage-region-purpose-and-owner-of-the-network",
    "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
    "網路一號生產環境主要區域網路一號生產環境主要區域",
    "Сеть для обучения моделей в производственной среде",
    "شبكة التدريب الرئيسية في بيئة الإنتاج والاختبار",
    "नेटवर्क प्रशिक्षण उत्पादन वातावरण",
    "🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀",
    "\u{1f9ee}\u{10ffff}\u{e000}\u{378}\u{fdfd}\u{a66e}",
];

fn named() -> String {
    let mut all = Vec::new();
    for (at, name) in NAMES.iter().enumerate() {
        let action = ["no-op", "create", "update", "replace", "delete"][at % 5];
        all.push(common::change(
            &format!("aws_vpc.n[{at}]"),
            action,
            json!({"id": format!("vpc-{at}"), "cidr_block": format!("10.20{at}.128.0/17"), "region": "ap-southeast-2",
                "ipv6_cidr_block": "2001:db8:1111:2200::/56", "tags": {"Name": name}}),
        ));
        all.push(common::change(
            &format!("aws_subnet.n[{at}]"),
            action,
            json!({"id": format!("s-{at}"), "vpc_id": format!("vpc-{at}"), "availability_zone": "ap-southeast-2a",
                "ipv6_cidr_block": "2001:db8:1111:2222:3333:4444:5555:6600/120", "tags": {"Name": name}}),
        ));
    }
    common::plan(all)
}

fn pictures() -> Vec<(String, String)> {
    let mut plans = corpus::plans().expect("the plans of the corpus");
    assert!(plans.len() > 15, "only {} plans", plans.len());
    let more = [30, 300].map(|count| (format!("{count} networks"), common::spokes(count, true)));
    for (name, text) in [("names".to_owned(), named())].into_iter().chain(more) {
        let verdict = corpus::verdict(&name, &text).expect("a verdict");
        plans.push((name, common::read("plan", &text), verdict));
    }
    assert!(plans.iter().any(|(_, _, verdict)| verdict.overlaps.len() > 9), "no plan has overlaps");
    let longest = plans.iter().flat_map(|(_, _, verdict)| &verdict.paths).map(|path| path.hops.len()).max();
    assert!(longest > Some(4), "no plan has a forbidden path of several hops: {longest:?}");
    let pictures: Vec<_> =
        plans.iter().flat_map(|(name, plan, verdict)| corpus::pictures(name, plan, verdict)).collect();
    for kind in ["clash", "forbidden"] {
        let line = format!("<path class=\"line {kind}\"");
        assert!(pictures.iter().any(|(_, svg)| svg.contains(&line)), "no picture has a line {kind}");
    }
    pictures
}

fn sound(renderer: &str, pictures: &[(String, String)], areas: &[Vec<Area>]) {
    assert_eq!(pictures.len(), areas.len());
    let mut faults = Vec::new();
    for ((name, svg), areas) in pictures.iter().zip(areas) {
        let picture = Picture::read(svg).expect("a picture");
        assert!(!picture.texts.is_empty(), "{name} has no text");
        faults.extend(picture.faults(areas).into_iter().map(|fault| format!("{name}: {fault}")));
    }
    assert!(
        faults.is_empty(),
        "{renderer}: {} faults\n{}",
        faults.len(),
        faults[..faults.len().min(40)].join("\n")
    );
}

fn in_browser(browser: Browser) {
    let pictures = pictures();
    let files: Vec<(&str, &str)> = pictures.iter().map(|(_, svg)| ("image/svg+xml", svg.as_str())).collect();
    let areas: Vec<Vec<Area>> = browser.run(MEASURE, &files).expect("areas of the texts");
    sound(&format!("{browser:?}"), &pictures, &areas);
}

#[test]
fn texts_keep_apart_in_chromium() {
    in_browser(Browser::Chromium);
}

#[test]
fn texts_keep_apart_in_firefox() {
    in_browser(Browser::Firefox);
}

#[test]
fn texts_keep_apart_in_librsvg() {
    let pictures = pictures();
    let svgs: Vec<&str> = pictures.iter().map(|(_, svg)| svg.as_str()).collect();
    sound("librsvg", &pictures, &librsvg::areas(&svgs).expect("areas of the texts"));
}
