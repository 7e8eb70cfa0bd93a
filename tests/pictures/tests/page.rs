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
    const frame = document.createElement('iframe');
    frame.style = 'border: 0; width: 390px; height: 844px';
    frame.src = '/0';
    document.body.append(frame);
    await new Promise((done) => { frame.onload = done; });
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
    return {
        wide: page.documentElement.scrollWidth,
        controls: [...page.querySelectorAll('header input, header button')].map(area),
        stage: area(page.getElementById('stage')),
        name,
        zoomed,
    };";

fn on_a_phone(browser: Browser) {
    let plans = corpus::plans().expect("the plans of the corpus");
    let (_, plan, verdict) = plans.into_iter().find(|(name, ..)| name == "change").expect("a plan");
    let options = Options { diff: true, verdict, ..Options::default() };
    let html = warren_diagram::html(&plan, &options).expect("a page");
    let page: Page = browser.run(MEASURE, &[("text/html", &html)]).expect("a measurement");
    let screen = Area { x: 0.0, y: 0.0, w: 390.0, h: 844.0 };
    assert!(page.wide <= 390.0, "the page is {} pixels wide", page.wide);
    assert_eq!(page.controls.len(), 6);
    for (at, control) in page.controls.iter().enumerate() {
        assert!(screen.holds(control), "control {at} is at {control:?}");
        assert!(
            page.controls[at + 1..].iter().all(|other| !other.touches(control)),
            "control {at} is covered"
        );
        assert!(control.h >= 30.0, "control {at} is too small to touch: {control:?}");
    }
    assert!(screen.holds(&page.stage) && page.stage.h > 600.0, "{:?}", page.stage);
    assert!(page.name >= 12.0, "names are {} pixels high", page.name);
    let [start, fitted, closer] = page.zoomed;
    assert!(fitted < start && closer > fitted, "{:?}", page.zoomed);
}

#[test]
fn the_page_works_on_a_phone_in_chromium() {
    on_a_phone(Browser::Chromium);
}

#[test]
fn the_page_works_on_a_phone_in_firefox() {
    on_a_phone(Browser::Firefox);
}
