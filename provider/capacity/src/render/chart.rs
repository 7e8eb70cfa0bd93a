//! The chart: time and cost of each option.

use crate::options::{OptionPlan, Verdict};
use crate::plan::Plan;
use crate::units::Seconds;

const WIDTH: usize = 820;
const TOP: usize = 76;
const ROW: usize = 30;
/// Left ends of the two panels.
const PANELS: [usize; 2] = [230, 530];
/// Length of the longest bar.
const BAR: f64 = 180.0;
/// Characters that fit: of the title, and of a name beside its verdict.
const TITLE: usize = 95;
const NAME: usize = 19;

const STYLE: &str = "<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.title { font-size: 15px; font-weight: 600; }
.axis { font-weight: 600; }
.small { fill: #59636e; font-size: 12px; }
.paper { fill: #ffffff; }
.fits { fill: #1a7f37; }
.tight { fill: #9a6700; }
.slow { fill: #cf222e; }
.unusable { fill: #818b98; }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc; }
.small { fill: #9198a1; }
.paper { fill: #0d1117; }
.fits { fill: #3fb950; }
.tight { fill: #d29922; }
.slow { fill: #f85149; }
}
</style>";

/// The plan as an SVG image: two bars for each option, the time of one transfer after the other, and the cost of a month.
pub fn svg(plan: &Plan) -> String {
    let height = TOP + ROW * plan.options.len() + 30;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n\
         <title>{0}</title>\n{STYLE}\n<rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>\n\
         <text class=\"title\" x=\"20\" y=\"28\">{1}</text>\n",
        escape(&super::title(plan)),
        escape(&cut(&super::title(plan), TITLE)),
    );
    let time = |option: &OptionPlan| Seconds(option.transfers.iter().map(|it| it.time.0).sum());
    let longest = |value: &dyn Fn(&OptionPlan) -> f64| plan.options.iter().map(value).fold(0.0, f64::max);
    let (most_time, most_cost) = (longest(&|it| time(it).0), longest(&|it| it.cost.total.0));
    for (x, heading) in PANELS.iter().zip(["Time to transfer all once", "Cost a month"]) {
        out.push_str(&format!("<text class=\"axis\" x=\"{x}\" y=\"58\">{heading}</text>\n"));
    }
    for (index, option) in plan.options.iter().enumerate() {
        let y = TOP + ROW * index;
        let class = class(option.verdict);
        let (name, whole) = (escape(&cut(&option.name, NAME)), escape(&option.name));
        out.push_str(&format!(
            "<text x=\"20\" y=\"{}\"><title>{whole}</title>{name} <tspan class=\"small\">{}</tspan></text>\n",
            y + 15,
            option.verdict.word()
        ));
        let bars = [
            (PANELS[0], time(option).0 / most_time, time(option).to_string()),
            (PANELS[1], option.cost.total.0 / most_cost, option.cost.total.to_string()),
        ];
        for (x, part, label) in bars {
            // Zero of zero has no bar.
            let length = if part.is_finite() { (part * BAR).max(1.0) } else { 0.0 };
            out.push_str(&format!(
                "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{length:.1}\" height=\"20\" rx=\"2\"/>\n\
                 <text x=\"{:.1}\" y=\"{}\">{label}</text>\n",
                x as f64 + length + 6.0,
                y + 15
            ));
        }
    }
    out.push_str(&format!(
        "<text class=\"small\" x=\"20\" y=\"{}\">{}</text>\n</svg>\n",
        height - 10,
        escape(&super::footer(plan))
    ));
    out
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Fits => "fits",
        Verdict::Tight => "tight",
        Verdict::Slow => "slow",
        Verdict::Unusable => "unusable",
    }
}

/// A text of at most so many characters. The whole text is in its tooltip.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// Text for XML. U+FFFE, U+FFFF, and control characters cannot occur in XML 1.0, not even escaped.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() || super::tables::steers(c) => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_at_characters() {
        assert_eq!(cut("åäö", 3), "åäö");
        assert_eq!(cut("åäöü", 3), "åä…");
    }

    #[test]
    fn what_xml_forbids_is_replaced() {
        assert_eq!(escape("<a&\"b\">\u{1b}\u{ffff}\u{202e}é"), "&lt;a&amp;&quot;b&quot;&gt; \u{fffd} é");
    }
}
