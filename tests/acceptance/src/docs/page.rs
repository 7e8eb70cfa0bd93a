//! The code blocks of a Markdown page, and the contract that they follow.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// A page.
#[derive(Debug)]
pub struct Page {
    /// Its path in the repository.
    pub path: String,
    /// Its code blocks, in order.
    pub blocks: Vec<Block>,
}

/// A fenced block.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// The line of its first fence, from 1.
    pub line: usize,
    /// The heading above it.
    pub heading: String,
    /// What is done with it.
    pub action: Action,
    /// Its text, without the fences.
    pub text: String,
}

/// What is done with a block.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// `sh`: executed in the page's shell session.
    Run(Expected),
    /// `hcl file=main.tf` and others: written to that file in the session's current directory.
    Write(PathBuf),
    /// `hcl`: validated as a fragment.
    Validate,
    /// `toml`, `yaml` and `json`: must be well-formed.
    Parse(Format),
    /// `sh skip="reason"`: not executed, for that reason.
    Skip(String),
    /// Other languages, which have nothing to execute.
    Show,
}

/// How an executed block ends.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// The exit code of its last command: `exit=1`. All other commands must succeed.
    pub exit: u8,
    /// A text that its output contains: `prints="overlaps"`.
    pub prints: Option<String>,
}

/// A format with a parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
    /// JSON.
    Json,
}

/// Languages that are shown only. A block in any other language is an error, so that a misspelt `sh` is noticed.
const SHOWN: [&str; 6] = ["text", "ini", "mermaid", "rust", "html", "diff"];

impl Page {
    /// Reads the blocks of a page.
    ///
    /// # Errors
    /// A block without a language, with an unknown one, or with attributes that do not apply to it.
    pub fn parse(path: &str, text: &str) -> Result<Page> {
        let mut blocks = Vec::new();
        let (mut heading, mut in_heading) = (String::new(), false);
        let mut open: Option<(usize, String, String)> = None;
        for (event, range) in Parser::new(text).into_offset_iter() {
            let line = text[..range.start].matches('\n').count() + 1;
            match event {
                Event::Start(Tag::Heading { .. }) => (heading, in_heading) = (String::new(), true),
                Event::End(TagEnd::Heading(_)) => in_heading = false,
                Event::Text(part) | Event::Code(part) if in_heading => heading.push_str(&part),
                Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) => {
                    bail!("{path}:{line}: an indented code block; fence it and name its language")
                }
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                    open = Some((line, info.into_string(), String::new()));
                }
                Event::Text(part) => {
                    if let Some((_, _, text)) = &mut open {
                        text.push_str(&part);
                    }
                }
                Event::End(TagEnd::CodeBlock) => {
                    let (line, info, text) = open.take().context("a block ends that did not begin")?;
                    let action = action(&info).with_context(|| format!("{path}:{line}"))?;
                    blocks.push(Block { line, heading: heading.clone(), action, text });
                }
                _ => {}
            }
        }
        Ok(Page { path: path.to_owned(), blocks })
    }
}

fn action(info: &str) -> Result<Action> {
    let (language, rest) = info.trim().split_once(' ').unwrap_or((info.trim(), ""));
    let mut attributes = attributes(rest)?;
    let action = if let Some(reason) = attributes.remove("skip") {
        ensure!(matches!(language, "sh" | "hcl"), "`skip` on a block that is not executed");
        ensure!(reason.len() > 10, "`skip` without a reason");
        Action::Skip(reason)
    } else if let Some(file) = attributes.remove("file") {
        ensure!(
            matches!(language, "hcl" | "toml" | "ini" | "yaml" | "json" | "text"),
            "`file` on a block in `{language}`"
        );
        Action::Write(file.into())
    } else {
        match language {
            "sh" => Action::Run(Expected {
                exit: attributes.remove("exit").map(|code| code.parse()).transpose()?.unwrap_or_default(),
                prints: attributes.remove("prints"),
            }),
            "hcl" => Action::Validate,
            "toml" => Action::Parse(Format::Toml),
            "yaml" => Action::Parse(Format::Yaml),
            "json" => Action::Parse(Format::Json),
            "" => bail!("a block without a language"),
            shown if SHOWN.contains(&shown) => Action::Show,
            other => bail!("a block in an unknown language, `{other}`"),
        }
    };
    ensure!(attributes.is_empty(), "attributes that do not apply here: {attributes:?}");
    Ok(action)
}

/// `name=value name="value with spaces"`.
fn attributes(mut rest: &str) -> Result<BTreeMap<String, String>> {
    let mut all = BTreeMap::new();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Ok(all);
        }
        let (name, after) = rest.split_once('=').with_context(|| format!("not NAME=VALUE: {rest}"))?;
        let (value, left) = if let Some(quoted) = after.strip_prefix('"') {
            quoted.split_once('"').context("a quoted value without an end")?
        } else {
            after.split_once(' ').unwrap_or((after, ""))
        };
        all.insert(name.to_owned(), value.to_owned());
        rest = left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actions(text: &str) -> Vec<Action> {
        Page::parse("page.md", text).unwrap().blocks.into_iter().map(|block| block.action).collect()
    }

    #[test]
    fn each_language_has_its_action() {
        let text = "```sh\ntrue\n```\n```sh exit=1 prints=\"no such\"\nfalse\n```\n```hcl file=a/main.tf\n```\n```hcl\n```\n\
                    ```toml\n```\n```text\n```\n```sh skip=\"needs an account\"\n```\n";
        let found = actions(text);
        assert_eq!(
            found,
            [
                Action::Run(Expected::default()),
                Action::Run(Expected { exit: 1, prints: Some("no such".into()) }),
                Action::Write("a/main.tf".into()),
                Action::Validate,
                Action::Parse(Format::Toml),
                Action::Show,
                Action::Skip("needs an account".into()),
            ]
        );
    }

    #[test]
    fn blocks_know_line_heading_and_text() {
        let page =
            Page::parse("page.md", "# A\n\n## Use `b`\n\n- item\n\n  ```sh\n  one\n  two\n  ```\n").unwrap();
        let block = &page.blocks[0];
        assert_eq!((block.line, block.heading.as_str(), block.text.as_str()), (7, "Use b", "one\ntwo\n"));
    }

    #[test]
    fn what_the_contract_does_not_know_is_refused() {
        for (text, word) in [
            ("```\nx\n```\n", "without a language"),
            ("```bash\nx\n```\n", "unknown language, `bash`"),
            ("text\n\n    x\n", "indented"),
            ("```sh skip=\"\"\nx\n```\n", "without a reason"),
            ("```text exit=1\nx\n```\n", "do not apply"),
            ("```sh file=x\nx\n```\n", "`file` on"),
        ] {
            let error = format!("{:#}", Page::parse("page.md", text).unwrap_err());
            assert!(error.contains(word) && error.contains("page.md:"), "{error}");
        }
    }
}
