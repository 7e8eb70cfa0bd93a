import assert from "node:assert/strict";
import { test } from "node:test";

import { lint } from "../lint.mjs";

const found = async (text, file = "x.md") => (await lint(text, file)).map(({ line, message }) => `${line}: ${message}`);

test("a paragraph or list item is one line", async () => {
  assert.deepEqual(await found("One line.\n\n- An item.\n- Another one.\n\n| a | b |\n|---|---|\n| c | d |\n"), []);
  assert.deepEqual(await found("First line\nsecond line.\n"), ["1: a hard-wrapped paragraph: write it on one line"]);
  assert.deepEqual(await found("- An item\n  of two lines.\n"), ["1: a hard-wrapped paragraph: write it on one line"]);
});

test("a code fence has a language, and its content is not prose", async () => {
  assert.deepEqual(await found("```sh\nwarren tells nobody\n```\n"), []);
  assert.deepEqual(await found("```\nwarren\n```\n"), ["1: a code fence without a language"]);
});

test("lists begin with a hyphen", async () => {
  assert.deepEqual(await found("* An item.\n"), ["1: a list item that does not begin with `-`"]);
});

test("headings are in sentence case", async () => {
  assert.deepEqual(await found("# Pods on Google Cloud\n"), []);
  assert.deepEqual(await found("# cidr_merge (Function)\n"), []);
  assert.match((await found("# Getting Started\n"))[0], /^1: "Started": headings are in sentence case/);
});

test("sentences have at most 35 words", async () => {
  const words = (count) => `${Array.from({ length: count }, (_, index) => `w${index}`).join(" ")}.`;
  assert.deepEqual(await found(`${words(35)} And ${words(34)}\n`), []);
  assert.deepEqual(await found(`${words(36)}\n`), ["1: a sentence of 36 words: split it (at most 35)"]);
  assert.deepEqual(await found("The code `a b c d` is is short.\n"), ['1: "is is": the same word twice']);
});

test("front matter, code spans, quotations and links are not prose", async () => {
  assert.deepEqual(await found('---\ntitle: tells\n---\n\nSet `id` as in "nobody tells", see [rules](tells.md).\n'), []);
});

test("strings of Rust are prose, with their own lines", async () => {
  const source = [
    "//! It tells nobody: documentation is not read.",
    "fn f<'a>(x: &'a str) -> char {",
    '    let code = "tells";',
    '    error("The gateway {name:?} is \\',
    '           at hand.\\n\\',
    '           It tells `id`.");',
    '    let quote = \'"\';',
    '    raw(r#"This one "tells" it goes on."#);',
    "}",
    "#[expect(unused, reason = \"nobody reads it\")]",
    "#[cfg(test)]",
    "mod tests {",
    '    const A: &str = "nobody is told {";',
    "}",
    'const B: &str = "nobody is there";',
  ].join("\n");
  const lines = await found(source, "x.rs");
  assert.deepEqual(lines.map((line) => line.split(":").slice(0, 2).join(":")), ['5: "at hand"', '6: "tells"', '8: "goes on"', '15: "nobody"']);
});

test("texts of others are exempt", async () => {
  const source = ["// prose: verbatim, of the API", 'const A: [&str; 2] = ["It tells you", "nobody is there"];', 'const B: &str = "It tells you";'].join("\n");
  assert.deepEqual((await found(source, "x.rs")).map((line) => line.slice(0, 9)), ['3: "tells']);
});

test("indented lines of a string are commands", async () => {
  const source = ['const HELP: &str = "Examples:', "  # It tells.", "  warren plan --format json nobody", "It tells.", '";', 'f("one is \\', '   told");'].join("\n");
  assert.deepEqual((await found(source, "x.rs")).map((line) => line.slice(0, 10)), ['2: "tells"', '4: "tells"', '7: "told":']);
});

test("help texts of a command line are prose", async () => {
  const source = ["/// What it is.", "#[derive(Parser)]", "struct A {", "    /// It tells", "    /// nobody.", "    a: u8,", "}", ""].join("\n");
  assert.deepEqual((await found(source, "x.rs")).map((line) => line.slice(0, 11)), ['1: "What it', '4: "tells":', '5: "nobody"']);
});

test("descriptions, messages and comments of Terraform are prose", async () => {
  const source = ['# It tells.', 'variable "id" {', '  description = "Id of a subnet."', '  error_message = <<-EOT', "    It goes on.", "  EOT", "}", ""].join("\n");
  assert.deepEqual((await found(source, "x.tf")).map((line) => line.slice(0, 7)), ['1: "tel', '3: "Id"', '5: "goe']);
});

test("texts of a page file are prose", async () => {
  const source = ['name = "warren_id"', 'use_when = """', "It tells it.", '"""', 'notes = """', "First line", "second line.", '"""', ""].join("\n");
  assert.deepEqual((await found(source, "page.toml")).map((line) => line.slice(0, 9)), ['3: "tells', "6: a hard"]);
});

test("descriptions and comments of YAML are prose", async () => {
  const source = ["# It tells.", "name: CI", "description: It goes on.", 'summary: "nobody is there"', "value: ${{ inputs.tells }}", 'summary: "{{ $value | tells }} is at hand"', "run: echo tells nobody", ""].join("\n");
  assert.deepEqual((await found(source, "x.yml")).map((line) => line.slice(0, 7)), ['1: "tel', '3: "goe', '4: "nob', '6: "at ']);
});
