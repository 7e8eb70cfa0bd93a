// Lints prose: node lint.mjs [--root DIR] [--comments] [--count] [PATH]...
//
// Paths are relative to the root, which is this repository unless given. Prints `file:line: message`. Exits with 1
// where something was found, with 2 where it could not run.

import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import kernelModule from "@textlint/kernel";
import markdownModule from "@textlint/textlint-plugin-markdown";
import terminology from "textlint-rule-terminology";

import layout from "./rules/layout.mjs";
import sentences from "./rules/sentences.mjs";
import words from "./rules/words.mjs";
import Source from "./source.mjs";
import { listed } from "./tree.mjs";

const { TextlintKernel } = kernelModule;
const here = path.dirname(fileURLToPath(import.meta.url));
const config = JSON.parse(readFileSync(path.join(here, ".textlintrc.json"), "utf8"));
const available = {
  words,
  sentences,
  layout,
  terminology: terminology.default ?? terminology,
};

/** The findings in a text, as `{ line, message }`. */
export async function lint(text, file, { comments = false } = {}) {
  const result = await new TextlintKernel().lintText(text, {
    filePath: file,
    ext: path.extname(file),
    plugins: [
      { pluginId: "markdown", plugin: markdownModule.default ?? markdownModule },
      { pluginId: "source", plugin: { Processor: Source }, options: { comments } },
    ],
    rules: Object.entries(config.rules)
      .filter(([, options]) => options !== false)
      .map(([ruleId, options]) => ({ ruleId, rule: available[ruleId], options: options === true ? {} : options })),
  });
  return result.messages.map(({ line, message, ruleId }) => ({ line, message, ruleId }));
}

function matches(file, patterns) {
  return patterns.some((pattern) => {
    const expression = pattern.replace(/[.+?^$()|[\]\\]/g, "\\$&").replace(/\*\*\/|\*\*|\*/g, (glob) => ({ "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*" })[glob]);
    return new RegExp(`^${expression}$`).test(file);
  });
}

/** The files of a tree that hold prose, as paths relative to its root. */
export function files(root, paths) {
  return listed(root, paths).filter((file) => {
    if (matches(file, config.ignore)) {
      return false;
    }
    switch (path.extname(file)) {
      case ".md":
      case ".tf":
      case ".yml":
      case ".yaml":
        return true;
      case ".rs":
        return matches(file, config.rust.include) && !matches(file, config.rust.exclude);
      case ".toml":
        return /^page(?:_\w+)?\.toml$/.test(path.basename(file));
      default:
        return false;
    }
  });
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { root: { type: "string" }, comments: { type: "boolean" }, count: { type: "boolean" } },
  });
  const root = path.resolve(values.root ?? path.join(here, "../.."));
  const chosen = files(root, positionals);
  if (positionals.length > 0 && chosen.length === 0) {
    throw new Error(`no prose in ${positionals.join(", ")}`);
  }
  const counts = new Map();
  let total = 0;
  for (const file of chosen) {
    const text = readFileSync(path.join(root, file), "utf8");
    for (const { line, message, ruleId } of await lint(text, file, { comments: values.comments })) {
      total += 1;
      counts.set(ruleId, (counts.get(ruleId) ?? 0) + 1);
      console.log(`${file}:${line}: ${message}`);
    }
  }
  const by = [...counts].map(([rule, count]) => `${rule} ${count}`).join(", ");
  console.error(total === 0 ? `${chosen.length} files, nothing found` : `${total} findings in ${chosen.length} files (${by})`);
  process.exitCode = total === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  main().catch((error) => {
    console.error(`error: ${error.message}`);
    process.exitCode = 2;
  });
}
