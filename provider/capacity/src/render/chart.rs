//! The chart: time and cost of each option.

use crate::options::{OptionPlan, Verdict};
use crate::plan::Plan;
use crate::units::{Seconds, Usd};

const WIDTH: usize = 820;
const TOP: usize = 76;
const ROW: usize = 30;
/// Left ends of the two panels.
const PANELS: [usize; 2] = [230, 530];
/// Length of the longest bar.
const BAR: f64 = 180.0;

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
         <text class=\"title\" x=\"20\" y=\"28\">{0}</text>\n",
        escape(&super::title(plan)),
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
        let name = escape(&cut(&option.name));
        out.push_str(&format!(
            "<text x=\"20\" y=\"{}\">{name} <tspan class=\"small\">{}</tspan></text>\n",
            y + 15,
            option.verdict.word()
        ));
        let bars = [
            (PANELS[0], time(option).0 / most_time, time(option).to_string()),
            (PANELS[1], option.cost.total.0 / most_cost, Usd(option.cost.total.0).to_string()),
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

/// A name that fits in its column.
fn cut(name: &str) -> String {
    let mut cut: String = name.chars().take(18).collect();
    if cut.len() < name.len() {
        cut.push('…');
    }
    cut
}

fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
