//! The offline command `warren`: reads arguments and files, writes reports and returns an exit code.

mod args;
mod baseline;
mod capacity;
mod diagram;
mod output;
mod policy;
mod report;
mod saved_plan;
mod scrape;
mod settings;
mod shell;
mod source;
mod terminal;

pub use terminal::{Progress, Terminal};

use args::{Args, Check, Command, Plan, PlanFormat};
use clap::Parser;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use warren_check::Wish;
use warren_cidr::{Assignment, parse_cidr};
use warren_model::Model;
use warren_planfile::{Input, InputError, Source, read, read_claims};

/// Exit code: no errors.
pub const FINE: u8 = 0;
/// Exit code: at least one error, or with `--strict` at least one warning.
pub const FINDINGS: u8 = 1;
/// Exit code: invalid arguments, or a file that cannot be read or written.
pub const UNUSABLE: u8 = 2;

/// Where the command reads from and writes to.
pub struct Streams<'a> {
    /// Standard input.
    pub stdin: &'a mut dyn Read,
    /// Standard output.
    pub stdout: &'a mut dyn Write,
    /// Standard error.
    pub stderr: &'a mut dyn Write,
    /// Whether to print colours: standard output is a terminal and `NO_COLOR` is not set.
    pub colour: bool,
}

/// Runs the command on the process's own arguments and streams.
pub fn main() -> ExitCode {
    let colour = std::io::IsTerminal::is_terminal(&std::io::stdout())
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let (mut stdin, mut stdout, mut stderr) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    let streams = Streams { stdin: &mut stdin, stdout: &mut stdout, stderr: &mut stderr, colour };
    ExitCode::from(run_on(Terminal::of_process(), std::env::args_os(), streams))
}

/// Runs the command without a terminal; the first argument is its name. Returns [`FINE`], [`FINDINGS`] or [`UNUSABLE`].
pub fn run(arguments: impl IntoIterator<Item = OsString>, streams: Streams<'_>) -> u8 {
    run_on(Terminal::default(), arguments, streams)
}

/// Like [`run`], with lines wrapped and progress shown as the terminal allows.
pub fn run_on(
    terminal: Terminal,
    arguments: impl IntoIterator<Item = OsString>,
    mut streams: Streams<'_>,
) -> u8 {
    let args = match Args::try_parse_from(arguments) {
        Ok(args) => args,
        Err(error) => {
            let text = error.render().to_string();
            let out = if error.use_stderr() { &mut streams.stderr } else { &mut streams.stdout };
            let _ = out.write_all(text.as_bytes());
            return if error.use_stderr() { UNUSABLE } else { FINE };
        }
    };
    let result = match &args.command {
        Command::Check(check) => run_check(check, &mut streams, terminal),
        Command::Plan(plan) => run_plan(plan, &mut streams, terminal),
        Command::Diagram(diagram) => {
            let display = terminal::Display::new(terminal.progress);
            display.step(format!("drawing {}", diagram.input));
            diagram::run(diagram, &mut streams)
        }
        Command::Capacity(capacity) => capacity::run(capacity, &mut streams),
        Command::Completions(shell) => shell::completions(shell, &mut streams),
        Command::Man(man) => shell::man(man),
    };
    result.unwrap_or_else(|errors| {
        for error in errors {
            // Names in the input may contain control characters.
            let words: Vec<String> = error.split(' ').map(warren_check::clean).collect();
            let line = format!("error: {}\n", words.join(" "));
            let _ = streams.stderr.write_all(warren_check::wrap(&line, terminal.error_width).as_bytes());
        }
        UNUSABLE
    })
}

type Outcome = Result<u8, Vec<String>>;

fn run_check(check: &Check, streams: &mut Streams<'_>, terminal: Terminal) -> Outcome {
    let display = terminal::Display::new(terminal.progress.filter(|_| !check.quiet));
    match check_files(check, streams, terminal, &display) {
        Ok(code) => Ok(code),
        Err(Stop::Unreadable(errors)) => report::refused(check, errors, streams),
        Err(Stop::Unwritable(errors)) => Err(errors),
    }
}

/// Why a check has no result.
enum Stop {
    /// The input or the arguments; a report for programs says so.
    Unreadable(Vec<String>),
    /// The output.
    Unwritable(Vec<String>),
}

fn check_files(
    check: &Check,
    streams: &mut Streams<'_>,
    terminal: Terminal,
    display: &terminal::Display,
) -> Result<u8, Stop> {
    let refuse = |error: String| Stop::Unreadable(vec![error]);
    if let Some(rule) = check.explain {
        let text = format!("{rule}: {}\n\n{}\n", rule.short(), rule.long());
        return emit(&text, None, streams).map(|()| FINE).map_err(Stop::Unwritable);
    }
    let mut owners = BTreeMap::new();
    let mut files = check.inputs.clone();
    for (owner, file) in &check.owners {
        if owners.insert(file.as_str(), owner.as_str()).is_some() {
            return Err(refuse(format!("--owner names {file} twice; set one owner for each file")));
        }
        if !files.contains(file) {
            files.push(file.clone());
        }
    }
    files.sort();
    files.dedup();
    if files.is_empty() && check.claims.is_empty() {
        return Err(refuse(
            "no files to check; name at least one file, or `-` for standard input (see `warren check --help`)".to_owned(),
        ));
    }
    let (mut inputs, mut errors, mut claims) = (Vec::new(), Vec::new(), Model::default());
    let mut policy = policy::Policy::default();
    if !check.policy.is_empty() && files.contains(&"-".to_owned()) {
        return Err(refuse("--policy: a plan on standard input cannot be checked against a policy; save it to a file and name the file".to_owned()));
    }
    for file in &files {
        display.step(format!("reading {}", if file == "-" { "standard input" } else { file }));
        match load(file, owners.get(file.as_str()).copied(), streams.stdin) {
            Ok(input) => inputs.push(input),
            Err(found) => errors.extend(found),
        }
    }
    for file in &check.claims {
        match text_of(file, streams.stdin) {
            Ok(text) => match read_claims(&Source { name: file, text: &text, owner: None }) {
                Ok(read) => claims.merge(read),
                Err(error) => errors.push(error.to_string()),
            },
            Err(error) => errors.push(error),
        }
    }
    if !check.policy.is_empty() {
        policy = policy::load(&check.policy, &files, &inputs, streams.stdin, &mut errors);
    }
    let settings = settings::load(check, &mut errors);
    let fabrics = settings.fabrics;
    let screen = baseline::screen(check, &mut errors).with_exceptions(settings.exceptions, settings::today());
    let mut sites = source::Sites::default();
    if errors.is_empty() {
        display.step("reading the configuration");
        sites = source::load(&check.source, &files, &mut errors);
    }
    if !errors.is_empty() {
        return Err(Stop::Unreadable(errors));
    }
    display.step("comparing the ranges");
    report::checked(check, &inputs, claims, (&fabrics, &screen), |mut report, pages| {
        warren_check::hold(&mut report, &policy.assertions, &policy.plans, &screen);
        screen.finish(&mut report);
        baseline::write(check, &screen, streams)?;
        baseline::note(check, &mut report);
        report.notes.extend(sites.notes(&report));
        report.lines = sites.lines;
        display.step("writing the report");
        report::write(check, &report, pages, streams, terminal.width)?;
        let fails = report.errors > 0 || (check.strict && report.warnings > 0);
        Ok(if fails { FINDINGS } else { FINE })
    })
    .map_err(Stop::Unwritable)
}

fn run_plan(plan: &Plan, streams: &mut Streams<'_>, terminal: Terminal) -> Outcome {
    let width = terminal.width.filter(|_| plan.output.is_none());
    let display = terminal::Display::new(terminal.progress);
    display.step(format!("computing the ranges of {}", plan.input));
    let previous = match &plan.previous {
        Some(file) => previous(file, &text_of(file, streams.stdin).map_err(|error| vec![error])?)?,
        None => Assignment::new(),
    };
    let Input::AddressPlan(address_plan) = load(&plan.input, None, streams.stdin)? else {
        return Err(vec![format!(
            "{}: this is a Terraform plan or state, not an address plan; check it with `warren check`",
            plan.input
        )]);
    };
    let limit = NonZeroUsize::new(args::MAX_FINDINGS);
    let start = Instant::now();
    let time = plan.time_limit.map(|seconds| Duration::from_secs(seconds.into()));
    let late = || time.is_some_and(|time| start.elapsed() >= time);
    let wish =
        Wish { previous: &previous, renumber: plan.allow_renumber, late: time.is_some().then_some(&late) };
    let solved = match warren_check::solve_file(&address_plan, &wish, limit) {
        Ok(solved) => solved,
        Err(report) => {
            let text = match plan.format {
                PlanFormat::Human => {
                    warren_check::wrap(&warren_check::human(&report, streams.colour, true), width)
                }
                PlanFormat::Json => warren_check::json(&report),
            };
            emit(&text, plan.output.as_deref(), streams)?;
            return Ok(FINDINGS);
        }
    };
    let text = match plan.format {
        PlanFormat::Json => {
            let versioned = Versioned { version: 1, plan: &solved };
            let mut text =
                serde_json::to_string_pretty(&versioned).map_err(|error| vec![error.to_string()])?;
            text.push('\n');
            text
        }
        PlanFormat::Human => table(&solved, width),
    };
    emit(&text, plan.output.as_deref(), streams)?;
    Ok(FINE)
}

/// The ranges as JSON. `docs/schemas` has the schema.
#[derive(serde::Serialize)]
struct Versioned<'a> {
    version: u32,
    #[serde(flatten)]
    plan: &'a warren_cidr::Plan,
}

/// A table of networks, ranges and usable addresses, followed by the networks that moved. In a narrow terminal, the name has a
/// line of its own.
fn table(plan: &warren_cidr::Plan, width: Option<usize>) -> String {
    let names: Vec<String> = plan.networks.keys().map(|name| warren_check::clean(name)).collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(7);
    // Two separators, a range, and a count.
    let narrow = width.is_some_and(|width| longest + 2 + 18 + 2 + 10 > width);
    let (start, column) = if narrow { ("\n  ", 0) } else { ("  ", longest) };
    let mut out = format!("{:column$}{start}{:18}  HOSTS\n", "NETWORK", "RANGE");
    for (name, (path, net)) in names.iter().zip(&plan.networks) {
        let hosts = plan.usable_hosts.get(path).map(ToString::to_string).unwrap_or_default();
        out.push_str(&format!("{name:column$}{start}{:18}  {hosts}\n", net.to_string()));
    }
    for moved in &plan.renumbered {
        let line =
            format!("moved: {} from {} to {}\n", warren_check::clean(&moved.path), moved.from, moved.to);
        out.push_str(&warren_check::wrap(&line, width));
    }
    out
}

/// The `networks` of an earlier `warren plan --format json`.
fn previous(file: &str, text: &str) -> Result<Assignment, Vec<String>> {
    let bad = |why: String| vec![format!("{file}: {why}")];
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| {
        bad(format!("not valid JSON: {error}; pass the output of `warren plan --format json`"))
    })?;
    let networks = value.get("networks").and_then(serde_json::Value::as_object);
    let networks = networks
        .ok_or_else(|| bad("it has no `networks`; pass the output of `warren plan --format json`".into()))?;
    networks
        .iter()
        .map(|(path, net)| {
            let text = net.as_str().ok_or_else(|| bad(format!("networks.{path}: expected a string")))?;
            let net = parse_cidr(text).map_err(|error| bad(format!("networks.{path}: {error}")))?;
            Ok((path.clone(), net))
        })
        .collect()
}

fn load(file: &str, owner: Option<&str>, stdin: &mut dyn Read) -> Result<Input, Vec<String>> {
    let text = text_of(file, stdin).map_err(|error| vec![error])?;
    read(&Source { name: file, text: &text, owner })
        .map_err(|errors| errors.iter().map(InputError::to_string).collect())
}

fn text_of(file: &str, stdin: &mut dyn Read) -> Result<String, String> {
    let mut bytes = Vec::new();
    if file == "-" {
        stdin.read_to_end(&mut bytes).map_err(|error| format!("cannot read standard input: {error}"))?;
    } else {
        bytes = std::fs::read(file).map_err(|error| unreadable(file, &error))?;
    }
    if file != "-" && warren_planfile::is_saved_plan(&bytes) {
        bytes = saved_plan::show(file, bytes)?;
    }
    warren_planfile::decode(file, bytes).map_err(|error| error.to_string())
}

fn unreadable(file: &str, error: &std::io::Error) -> String {
    let hint = match error.kind() {
        std::io::ErrorKind::NotFound => "; check the path",
        std::io::ErrorKind::PermissionDenied => "; check the permissions of the file",
        std::io::ErrorKind::IsADirectory => "; name the files in it",
        _ => "",
    };
    format!("cannot read {file}: {error}{hint}")
}

fn emit(text: &str, file: Option<&str>, streams: &mut Streams<'_>) -> Result<(), Vec<String>> {
    emit_bytes(text.as_bytes(), file, streams)
}

fn emit_bytes(bytes: &[u8], file: Option<&str>, streams: &mut Streams<'_>) -> Result<(), Vec<String>> {
    let mut out = output::Output::open(file, streams)?;
    let written = out.write_all(bytes);
    out.done(written)
}
