// A textlint plugin that finds the prose in sources: strings of two or more words in Rust, descriptions, messages and
// comments of Terraform and YAML, texts in `page.toml`. Findings have the line and column of the source.

/**
 * Where prose is in a Rust source: string literals, and documentation comments as an option. A comment `prose: verbatim`
 * exempts the statement after it, for texts that others have written.
 */
export function rustText(source, { comments = false } = {}) {
  const found = [];
  const length = source.length;
  let index = 0;
  let depth = 0;
  let skipBelow = null;
  let pendingTest = false;
  let attribute = null;
  let docs = null;
  let verbatim = null;
  const help = /derive\([^)]*\b(?:Parser|Subcommand|Args|ValueEnum)\b/.test(source);
  const flush = () => {
    if (docs && (comments || help)) {
      found.push(docs);
    }
    docs = null;
  };
  const literal = (start, end, raw) => {
    if (skipBelow === null && verbatim === null && !(attribute !== null && /\b(?:reason|expected)\s*=\s*$/.test(source.slice(Math.max(0, start - 20), start).replace(/[br#"]*$/, "")))) {
      found.push({ start, end, kind: raw ? "raw" : "string" });
    }
  };
  while (index < length) {
    const rest = source.startsWith.bind(source);
    const char = source[index];
    if (rest("//", index)) {
      const end = source.indexOf("\n", index) < 0 ? length : source.indexOf("\n", index);
      const doc = /^\/\/[\/!](?!\/)/.exec(source.slice(index, index + 4));
      if (doc && skipBelow === null) {
        docs ??= { start: index + 3, end, kind: "doc" };
        docs.end = end;
      } else {
        if (comments && !doc && skipBelow === null) {
          found.push({ start: index + 2, end, kind: "comment" });
        }
        if (/\bprose: verbatim\b/.test(source.slice(index, end))) { verbatim = depth; }
        flush();
      }
      index = end;
      continue;
    }
    if (rest("/*", index)) {
      let nested = 1;
      index += 2;
      while (index < length && nested > 0) {
        if (rest("/*", index)) { nested += 1; index += 2; }
        else if (rest("*/", index)) { nested -= 1; index += 2; }
        else { index += 1; }
      }
      continue;
    }
    if (/\s/.test(char)) { index += 1; continue; }
    flush();
    const raw = /^(?:b|c)?r(#*)"/.exec(source.slice(index, index + 12));
    const before = index > 0 ? source[index - 1] : "";
    if (raw && !/\w/.test(before)) {
      const start = index + raw[0].length;
      const close = source.indexOf(`"${raw[1]}`, start);
      const end = close < 0 ? length : close;
      literal(start, end, true);
      index = end + 1 + raw[1].length;
      continue;
    }
    if (char === '"') {
      const start = index + 1;
      let end = start;
      while (end < length && source[end] !== '"') { end += source[end] === "\\" ? 2 : 1; }
      if (before !== "b" || /\w/.test(source[index - 2] ?? "")) { literal(start, end, false); }
      index = end + 1;
      continue;
    }
    if (char === "'") {
      const quoted = /^'(?:\\(?:u\{[0-9a-fA-F_]+\}|x[0-9a-fA-F]{2}|.)|[^\\'])'/u.exec(source.slice(index, index + 14));
      index += quoted ? quoted[0].length : 1;
      continue;
    }
    if (rest("#[", index) || rest("#![", index)) {
      const body = source.slice(index, index + 60);
      if (/^#\[cfg\((?:all\()?test\b/.test(body)) { pendingTest = true; }
      attribute = depth;
      depth += 1;
      index += body.indexOf("[") + 1;
      continue;
    }
    if (char === "{" || char === "[" || char === "(") {
      if (char === "{" && pendingTest && attribute === null && skipBelow === null) { skipBelow = depth; pendingTest = false; }
      depth += 1;
    } else if (char === "}" || char === "]" || char === ")") {
      depth -= 1;
      if (attribute !== null && depth === attribute) { attribute = null; }
      if (skipBelow !== null && depth === skipBelow) { skipBelow = null; }
    } else if (char === ";" && attribute === null) {
      if (depth === verbatim) { verbatim = null; }
      pendingTest = false;
    }
    index += 1;
  }
  flush();
  return found;
}

/** Where prose is in Terraform's language: descriptions, messages, comments. */
export function terraformText(source) {
  const found = [];
  for (const match of source.matchAll(/^[ \t]*(?:#|\/\/) ?(.*(?:\n[ \t]*(?:#|\/\/).*)*)/gm)) {
    found.push({ start: match.index + match[0].indexOf(match[1]), end: match.index + match[0].length, kind: "doc" });
  }
  for (const match of source.matchAll(/\b(?:description|error_message)\s*=\s*"((?:[^"\\\n]|\\.)*)"/g)) {
    const start = match.index + match[0].length - 1 - match[1].length;
    found.push({ start, end: start + match[1].length, kind: "string" });
  }
  for (const match of source.matchAll(/\b(?:description|error_message)\s*=\s*<<-?(\w+)\n([^]*?)\n\s*\1\b/g)) {
    const start = match.index + match[0].indexOf("\n") + 1;
    found.push({ start, end: start + match[2].length, kind: "text" });
  }
  return found.sort((one, other) => one.start - other.start);
}

/** Where prose is in YAML: descriptions, summaries and comments of workflows, actions, forms and alert rules. */
export function yamlText(source) {
  const found = [];
  for (const match of source.matchAll(/^[ \t]*# ?(.*(?:\n[ \t]*#.*)*)/gm)) {
    found.push({ start: match.index + match[0].indexOf(match[1]), end: match.index + match[0].length, kind: "doc" });
  }
  for (const match of source.matchAll(/^[ \t-]*(?:description|summary|about|label|value|name): +(?:"((?:[^"\\\n]|\\.)*)"|([^"'|>&*{[\s].*))$/gm)) {
    const body = match[1] ?? match[2];
    const start = match.index + match[0].lastIndexOf(body);
    found.push({ start, end: start + body.length, kind: "template" });
  }
  for (const match of source.matchAll(/^([ \t]*)(?:- )?(?:description|summary): [|>]-?\n((?:\1[ \t]+.*\n?|[ \t]*\n)+)/gm)) {
    const start = match.index + match[0].length - match[2].length;
    found.push({ start, end: start + match[2].trimEnd().length, kind: "template" });
  }
  return found.sort((one, other) => one.start - other.start);
}

/** Where prose is in a page file of the reference. */
export function pageText(source) {
  const found = [];
  for (const match of source.matchAll(/^\s*(?:use_when|notes|summary|timeouts)\s*=\s*(?:"""\n?([^]*?)"""|'''\n?([^]*?)'''|"((?:[^"\\\n]|\\.)*)")/gm)) {
    const body = match[1] ?? match[2] ?? match[3];
    const start = match.index + match[0].lastIndexOf(body);
    found.push({ start, end: start + body.length, kind: "markdown" });
  }
  return found;
}

const code = [
  /^\s*[{[<]/, // JSON, HCL, a section of TOML, HTML
  /[{;]\s*$/,
  /\bfn \w+\(|=>|\|\||&&|::<|\w=\\?"|\{\{|^\s*(?:\w+[._])+\w+\s*=|\b(?:mutation|query) \w+ ?[({]|^\s*(?:table|chain|subgraph|class) /,
];

/** Whether a literal reads as prose: two words or more, and not code. */
export function isProse(text) {
  const plain = text.replace(/\{[\w.]*(?::[^{}]*)?\}/g, "X").replace(/`[^`]*`/g, "code");
  const words = plain.match(/(?<![\w/.:$@=-])[A-Za-z][a-z]*(?:'[a-z]+)?(?![\w/=(@]|[.:]\w|-\w*[=:])/g) ?? [];
  return words.length >= 2 && !code.some((pattern) => pattern.test(plain));
}

function blank(text) {
  return text.replace(/[^\n]/g, " ");
}

/** Stands for the backslash that continues a string on the next line: a blank to all rules. */
const continued = "\u00a0";

/** Lines that a string prints with an indentation: commands of an example. */
const indented = new RegExp(`^(?:(?<!${continued})\\n)? {2,}(?![-*#] )\\S`);

// What begins another paragraph: an empty line, a list item, a fence or a line that was a `\n`; in strings an indented line too.
const breaks = /(\n[ \t]*(?=\n)|\n(?=[ \t]*(?:[-*#|] |```))|(?<= )\n(?=\S))/;
const printedBreaks = new RegExp(
  `${breaks.source}|((?<!${continued})(?=\\n {2,}\\S)|(?<=\\n {2,}[^\\n]*[^\\n${continued}])(?=\\n\\S))`,
);

/** The same number of characters, without escapes and comment markers. */
function reading(text, kind) {
  if (kind === "string" || kind === "text") {
    return text.replace(/\\\n/g, `${continued}\n`).replace(/\\(?:u\{[^}]*\}|x..|[^])/g, (escape) => {
      return escape === '\\"' ? ' "' : escape.includes("\n") ? escape : escape === "\\n" ? " \n" : blank(escape);
    });
  }
  if (kind === "template") {
    return text.replace(/\$?\{\{[^{}]*\}\}/g, (expression) => "X".repeat(expression.length));
  }
  if (kind === "doc") {
    return text.replace(/\n[ \t]*(?:\/\/[\/!]?|#)/g, (marker) => `\n${blank(marker.slice(1))}`);
  }
  return text;
}

function locate(starts, offset) {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= offset) { low = middle; } else { high = middle - 1; }
  }
  return { line: low + 1, column: offset - starts[low] };
}

/** A document of textlint whose paragraphs are the pieces of prose. */
export function document(source, pieces) {
  const starts = [0];
  for (let index = source.indexOf("\n"); index >= 0; index = source.indexOf("\n", index + 1)) { starts.push(index + 1); }
  const node = (type, start, end, more) => ({
    type,
    range: [start, end],
    loc: { start: locate(starts, start), end: locate(starts, end) },
    raw: source.slice(start, end),
    ...more,
  });
  const children = [];
  for (const { start, end, kind } of pieces) {
    const text = reading(source.slice(start, end), kind);
    let offset = 0;
    const printed = kind === "string" || kind === "raw";
    for (const part of text.split(printed ? printedBreaks : breaks).filter((part) => part !== undefined)) {
      const from = start + offset + part.search(/\S|$/);
      const to = start + offset + part.trimEnd().length;
      offset += part.length;
      const example = printed && indented.test(part);
      if (to <= from || example || !isProse(part)) { continue; }
      const inner = [];
      let last = from;
      const slice = text.slice(from - start, to - start);
      for (const match of slice.matchAll(/`[^`]+`|\]\([^)\s]*\)|(?<![\w.])\b(?:application|text|audio|image)\/[\w.+-]+/g)) {
        const at = from + match.index;
        if (at > last) { inner.push(node("Str", last, at, { value: slice.slice(last - from, match.index) })); }
        if (!match[0].startsWith("]")) { inner.push(node("Code", at, at + match[0].length, { value: match[0].replaceAll("`", "") })); }
        last = at + match[0].length;
      }
      if (to > last) { inner.push(node("Str", last, to, { value: slice.slice(last - from) })); }
      children.push(node("Paragraph", from, to, { children: inner, generated: kind !== "markdown", reading: slice }));
    }
  }
  return node("Document", 0, source.length, { children });
}

const readers = { ".rs": rustText, ".tf": terraformText, ".toml": pageText, ".yml": yamlText, ".yaml": yamlText };

/** The processor. */
export default class Source {
  constructor(config = {}) {
    this.config = config;
  }
  availableExtensions() {
    return Object.keys(readers);
  }
  processor(extension) {
    return {
      preProcess: (text) => {
        const pieces = readers[extension](text, { comments: this.config.comments });
        return document(text, pieces);
      },
      postProcess: (messages, filePath) => ({ messages, filePath: filePath ?? "<source>" }),
    };
  }
}
