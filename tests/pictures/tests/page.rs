//! The HTML page works on a phone: 390 pixels wide, nothing beside the screen, texts of readable size.

use serde::Deserialize;
use warren_diagram::Options;
use warren_pictures::browser::Browser;
use warren_pictures::corpus;
use warren_pictures::picture::Area;

/// What a browser measures in the page.
#[derive(Deserialize)]
struct Page {
    /// Width of the content.
    wide: f64,
    /// Inputs and buttons.
    controls: Vec<Area>,
    /// The drawing.
    stage: Area,
    /// Height of the first network's name.
    name: f64,
    /// Width of the first network's box at the start, fitted to the screen, and after zooming in again.
    zoomed: [f64; 3],
}

const MEASURE: &str = "
    const out = [];
    for (let at = 0; at < count; at++) {
    const frame = document.createElement('iframe');
    frame.style = 'border: 0; width: 390px; height: 844px';
    frame.src = '/' + at;
    const loaded = new Promise((done) => { frame.onload = done; });
    document.body.append(frame);
    await loaded;
    await new Promise((done) => setTimeout(done, 300));
    const page = frame.contentDocument;
    const area = (item) => {
        const { x, y, width, height } = item.getBoundingClientRect();
        return { x, y, w: width, h: height };
    };
    const name = area(page.querySelector('.is-network > text')).h;
    const box = () => area(page.querySelector('.is-network > .box')).w;
    const zoomed = [box()];
    for (const button of ['fit', 'in']) {
        page.getElementById(button).click();
        zoomed.push(box());
    }
    out.push({
        wide: page.documentElement.scrollWidth,
        controls: [...page.querySelectorAll('header input, header button')].map(area),
        stage: area(page.getElementById('stage')),
        name,
        zoomed,
    });
    frame.remove();
    }
    return out;";

/// Plans with changes, overlaps, forbidden paths, an overlay, and clusters in three clouds.
const PLANS: [&str; 5] = ["change", "example", "overlay", "hybrid", "clusters"];

fn on_a_phone(browser: Browser) {
    let plans = corpus::plans().expect("the plans of the corpus");
    let plans: Vec<_> = plans.into_iter().filter(|(name, ..)| PLANS.contains(&name.as_str())).collect();
    assert_eq!(plans.len(), PLANS.len());
    assert!(plans.iter().any(|(_, _, verdict)| !verdict.paths.is_empty()), "no path is forbidden");
    let pages: Vec<String> = plans
        .iter()
        .map(|(_, plan, verdict)| {
            let options = Options { diff: true, verdict: verdict.clone(), ..Options::default() };
            warren_diagram::html(plan, &options).expect("a page")
        })
        .collect();
    let files: Vec<(&str, &str)> = pages.iter().map(|html| ("text/html", html.as_str())).collect();
    let measured: Vec<Page> = browser.run(MEASURE, &files).expect("measurements");
    assert_eq!(measured.len(), plans.len());
    for ((name, ..), page) in plans.iter().zip(&measured) {
        fits(name, page);
    }
}

fn fits(plan: &str, page: &Page) {
    let screen = Area { x: 0.0, y: 0.0, w: 390.0, h: 844.0 };
    assert!(page.wide <= 390.0, "{plan}: the page is {} pixels wide", page.wide);
    assert_eq!(page.controls.len(), 6);
    for (at, control) in page.controls.iter().enumerate() {
        assert!(screen.holds(control), "{plan}: control {at} is at {control:?}");
        assert!(
            page.controls[at + 1..].iter().all(|other| !other.touches(control)),
            "{plan}: control {at} is covered"
        );
        assert!(control.h >= 30.0, "{plan}: control {at} is too small to touch: {control:?}");
    }
    assert!(screen.holds(&page.stage) && page.stage.h > 600.0, "{plan}: {:?}", page.stage);
    assert!(page.name >= 12.0, "{plan}: names are {} pixels high", page.name);
    let [start, fitted, closer] = page.zoomed;
    assert!(fitted < start && closer > fitted, "{plan}: {:?}", page.zoomed);
}

#[test]
fn the_page_works_on_a_phone_in_chromium() {
    on_a_phone(Browser::Chromium);
}

#[test]
fn the_page_works_on_a_phone_in_firefox() {
    on_a_phone(Browser::Firefox);
}
