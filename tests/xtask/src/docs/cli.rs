//! The command-line reference, from what the programs print with `--help`.

use std::path::Path;
use std::process::Command as Process;

use anyhow::{Context as _, Result, ensure};
use serde::Serialize;

use super::markdown::{escape, unwrap};
use super::output::Output;
use super::templates::Templates;

const PROGRAMS: [&str; 2] = ["warren", "warren-tunnel"];

/// The page of a program.
#[derive(Serialize)]
struct Page {
    name: &'static str,
    about: String,
    notes: String,
    commands: Vec<Command>,
}

/// A command or subcommand.
#[derive(Serialize)]
struct Command {
    /// With the program: `warren-tunnel gateway check`.
    name: String,
    anchor: String,
    depth: usize,
    /// The first paragraph.
    summary: String,
    about: String,
    usage: String,
    sections: Vec<Section>,
    /// What follows the options.
    after: String,
}

/// Arguments or options.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Section {
    title: String,
    entries: Vec<Entry>,
}

/// An argument or option.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Entry {
    term: String,
    text: String,
    values: Vec<(String, String)>,
}

/// Adds the page of each program.
pub(crate) fn pages(folder: &Path, output: &mut Output) -> Result<()> {
    let templates = Templates::new()?;
    output.own("docs/cli");
    for name in PROGRAMS {
        let mut commands = Vec::new();
        walk(&folder.join(name), &[name], &mut commands)?;
        let about = commands.first().map(|command| command.about.clone()).unwrap_or_default();
        let notes =
            "This page is generated from `--help`. A flag takes precedence over its environment variable."
                .to_owned();
        let page = Page { name, about, notes, commands };
        output.file(format!("docs/cli/{name}.md"), templates.render("command.md", &page)?);
    }
    Ok(())
}

/// A command and those below it, each from its own help.
fn walk(program: &Path, path: &[&str], commands: &mut Vec<Command>) -> Result<()> {
    let help = help(program, &path[1..])?;
    let parsed = parse(path, &help);
    let names = parsed.names;
    commands.push(parsed.command);
    for name in names.iter().filter(|name| *name != "help") {
        walk(program, &[path, &[name.as_str()]].concat(), commands)?;
    }
    Ok(())
}

/// The help as it is without any variable of the environment, whose value it would show.
fn help(program: &Path, path: &[&str]) -> Result<String> {
    let mut process = Process::new(program);
    process.args(path).arg("--help").env_clear();
    let output = process.output().with_context(|| format!("cannot start {}", program.display()))?;
    ensure!(
        output.status.success(),
        "`{} {} --help` failed: {}",
        program.display(),
        path.join(" "),
        output.status
    );
    Ok(String::from_utf8(output.stdout)?)
}

/// A command with the names of those below it.
struct Parsed {
    command: Command,
    names: Vec<String>,
}

/// Reads help as clap prints it: about, usage, sections of commands, arguments and options, and what follows.
fn parse(path: &[&str], help: &str) -> Parsed {
    let lines: Vec<&str> = help.lines().collect();
    let usage_at = lines.iter().position(|line| line.starts_with("Usage:")).unwrap_or(lines.len());
    let usage_end = usage_at
        + lines[usage_at..].iter().position(|line| line.is_empty()).unwrap_or(lines.len() - usage_at);
    let about = escape(&unwrap(&lines[..usage_at].join("\n")));
    let usage = lines[usage_at..usage_end]
        .iter()
        .map(|line| line.strip_prefix("Usage:").unwrap_or(line).trim())
        .collect::<Vec<_>>()
        .join("\n");
    let mut sections = Vec::new();
    let mut names = Vec::new();
    let mut at = usage_end;
    while at < lines.len() {
        if lines[at].is_empty() {
            at += 1;
            continue;
        }
        let Some(title) = heading(&lines[at..]) else { break };
        let end = at
            + 1
            + lines[at + 1..].iter().position(|line| ends_section(line)).unwrap_or(lines.len() - at - 1);
        let entries = entries(&lines[at + 1..end]);
        if title == "Commands" {
            names.extend(entries.into_iter().map(|entry| entry.term.trim_matches('`').to_owned()));
        } else {
            sections.push(Section { title: escape(title), entries: documented(entries) });
        }
        at = end;
    }
    sections.retain(|section: &Section| !section.entries.is_empty());
    let name = path.join(" ");
    let command = Command {
        anchor: name.replace(' ', "-"),
        depth: path.len() - 1,
        summary: sentence(about.lines().next().unwrap_or_default()),
        about: sentence(&about),
        usage,
        sections,
        after: prose(&lines[at.min(lines.len())..]),
        name,
    };
    Parsed { command, names }
}

/// The options that differ between commands.
fn documented(entries: Vec<Entry>) -> Vec<Entry> {
    let common = ["`-h`, `--help`", "`-V`, `--version`"];
    entries.into_iter().filter(|entry| !common.contains(&entry.term.as_str())).collect()
}

/// The title of a section, if this line begins one: after it comes an indented entry.
fn heading<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let title = lines.first()?.strip_suffix(':')?;
    let first = lines.get(1)?;
    let known = ["Commands", "Arguments", "Options"].contains(&title);
    (first.starts_with("  ") && (known || first.trim_start().starts_with('-'))).then_some(title)
}

fn ends_section(line: &str) -> bool {
    !line.is_empty() && !line.starts_with(' ')
}

/// The entries of a section. A term is indented less than its description, which follows it or is beside it.
fn entries(lines: &[&str]) -> Vec<Entry> {
    let mut entries: Vec<(String, Vec<String>)> = Vec::new();
    for line in lines {
        let indent = line.len() - line.trim_start().len();
        if !line.is_empty() && indent < 10 {
            let line = line.trim();
            let (term, beside) = line.split_once("  ").unwrap_or((line, ""));
            let beside = beside.trim();
            let text = if beside.is_empty() { Vec::new() } else { vec![beside.to_owned()] };
            entries.push((term.to_owned(), text));
        } else if let Some((_, text)) = entries.last_mut() {
            text.push(line.get(10..).unwrap_or_default().to_owned());
        }
    }
    entries.into_iter().map(|(term, text)| entry(&term, &text)).collect()
}

fn entry(term: &str, lines: &[String]) -> Entry {
    let mut entry = Entry { term: terms(term), ..Entry::default() };
    let mut text: Vec<String> = Vec::new();
    let mut notes = Vec::new();
    let mut values = false;
    for line in lines {
        let mut line = line.trim();
        if line == "Possible values:" {
            values = true;
        } else if let Some((value, meaning)) =
            line.strip_prefix("- ").filter(|_| values).and_then(|line| line.split_once(':'))
        {
            entry.values.push((value.to_owned(), sentence(&escape(meaning.trim()))));
        } else if let Some((rest, note)) = note(line) {
            let mut found = vec![note];
            line = rest;
            while let Some((rest, note)) = self::note(line) {
                found.insert(0, note);
                line = rest;
            }
            text.push(line.to_owned());
            notes.extend(found);
        } else {
            text.push(line.to_owned());
        }
    }
    let text = text.join("\n");
    let paragraphs =
        text.split("\n\n").map(|part| sentence(&escape(&unwrap(part)))).filter(|part| !part.is_empty());
    let mut parts: Vec<String> = paragraphs.collect();
    parts.extend(notes);
    if !entry.values.is_empty() {
        parts.push("Values:".to_owned());
    }
    entry.text = parts.join(" ");
    entry
}

/// What clap adds to a description, such as `[default: auto]`, and the text before it.
fn note(line: &str) -> Option<(&str, String)> {
    let (rest, inner) = line.strip_suffix(']')?.rsplit_once('[')?;
    let (name, value) = inner.split_once(": ").or_else(|| inner.split_once(':'))?;
    let note = match name {
        "env" => format!("Environment variable: `{}`.", value.trim_end_matches('=')),
        // A default with spaces is prose of the description.
        "default" if value.contains(' ') => format!("Defaults to {}.", escape(value)),
        "default" => format!("Defaults to `{value}`."),
        "possible values" => {
            let values: Vec<String> = value.split(", ").map(|value| format!("`{value}`")).collect();
            format!("Values: {}.", values.join(", "))
        }
        "aliases" | "alias" => format!("Alias: `{value}`."),
        _ => return None,
    };
    Some((rest.trim_end(), note))
}

/// `-c, --config <FILE>` as code.
fn terms(term: &str) -> String {
    term.split(", ").map(|part| format!("`{part}`")).collect::<Vec<_>>().join(", ")
}

/// Text with a full stop at its end.
fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() || text.ends_with(['.', ':', '!', '?', '\n']) {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

/// What follows the options: paragraphs, and as code what is indented.
fn prose(lines: &[&str]) -> String {
    let mut out = String::new();
    let mut paragraph: Vec<&str> = Vec::new();
    let mut code: Vec<&str> = Vec::new();
    for line in lines.iter().chain([&""]) {
        let indented = line.starts_with("  ");
        if (indented || line.is_empty()) && !paragraph.is_empty() {
            out += &format!("{}\n\n", escape(&unwrap(&paragraph.join("\n"))));
            paragraph.clear();
        }
        if !indented && !line.is_empty() && !code.is_empty() {
            out += &block(&code);
            code.clear();
        }
        if indented || (line.is_empty() && !code.is_empty()) {
            code.push(line.get(2..).unwrap_or_default());
        } else if !line.is_empty() {
            paragraph.push(line);
        }
    }
    if !code.is_empty() {
        out += &block(&code);
    }
    out.trim_end().to_owned()
}

fn block(lines: &[&str]) -> String {
    format!("```text\n{}\n```\n\n", lines.join("\n").trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "Do it

Usage: tool do [OPTIONS] [FILE]
       tool do <COMMAND>

Commands:
  part  Do a part
  help  Print this message

Arguments:
  [FILE]
          What to do

Options:
  -c, --config <FILE>
          The file
          of <NAME>

          [env: TOOL_CONFIG=]
          [default: tool.toml]

      --how <HOW>
          How

          Possible values:
          - fast: At once
          - slow: Later

  -h, --help
          Print help

Exit codes:
  0  well
  1  not

A line
and its end: `x`.
";

    #[test]
    fn help_becomes_sections() {
        let Parsed { command, names } = parse(&["tool", "do"], HELP);
        assert_eq!(names, ["part", "help"]);
        assert_eq!((command.about.as_str(), command.anchor.as_str()), ("Do it.", "tool-do"));
        assert_eq!(command.usage, "tool do [OPTIONS] [FILE]\ntool do <COMMAND>");
        assert_eq!(command.sections.len(), 2);
        let options = &command.sections[1].entries;
        assert_eq!(options[0].term, "`-c`, `--config <FILE>`");
        assert_eq!(
            options[0].text,
            "The file of \\<NAME\\>. Environment variable: `TOOL_CONFIG`. Defaults to `tool.toml`."
        );
        assert_eq!(options[1].values[1], ("slow".to_owned(), "Later.".to_owned()));
        assert_eq!(options.len(), 2);
        assert_eq!(command.after, "Exit codes:\n\n```text\n0  well\n1  not\n```\n\nA line and its end: `x`.");
    }

    #[test]
    fn notes_beside_a_short_description_are_found() {
        let section = entries(&["      --out <FILE>  Where to [env: OUT=] [default: -]"]);
        assert_eq!(section[0].text, "Where to. Environment variable: `OUT`. Defaults to `-`.");
    }
}
