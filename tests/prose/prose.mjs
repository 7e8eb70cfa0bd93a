// What the rules have in common: the text that a reader sees, with the position of each character in the file.

/** Nodes that hold a run of text. */
export const blocks = ["Paragraph", "Header", "TableCell"];

const opaque = new Set(["Code", "CodeBlock", "Image", "Html", "HtmlBlock", "Comment"]);

/**
 * The text of a block without markup. Each code span, quotation and placeholder becomes the word `code`.
 * `at[i]` is the offset in the block's source of character `i`.
 */
export function flatten(node, source) {
  const start = node.range[0];
  let text = "";
  const at = [];
  const put = (string, offset, step) => {
    for (let index = 0; index < string.length; index += 1) {
      text += string[index];
      at.push(offset + (step ? index : 0));
    }
  };
  const walk = (child) => {
    const offset = child.range[0] - start;
    if (child.type === "Str") {
      put(source.slice(offset, child.range[1] - start), offset, true);
    } else if (child.type === "Break") {
      put(" ", offset, false);
    } else if (child.type === "Link" && /^\w+:\/\//.test(child.children?.[0]?.value ?? "")) {
      put("code", offset, false);
    } else if (opaque.has(child.type)) {
      if (!/^<!--/.test(child.raw ?? "")) {
        put("code", offset, false);
      }
    } else {
      (child.children ?? []).forEach(walk);
    }
  };
  (node.children ?? []).forEach(walk);
  return mask(mask({ text, at }, /"[^"\n]{1,300}"|“[^”]{1,300}”/g), /\{[^{}\s]*\}|<[A-Za-z][^<>\n]{0,40}>|\$\{[^{}]*\}|%[A-Z_a-z]\b/g);
}

function mask({ text, at }, pattern) {
  let masked = "";
  const positions = [];
  let last = 0;
  for (const match of text.matchAll(pattern)) {
    masked += text.slice(last, match.index) + "code";
    positions.push(...at.slice(last, match.index), ...Array(4).fill(at[match.index]));
    last = match.index + match[0].length;
  }
  return { text: masked + text.slice(last), at: [...positions, ...at.slice(last)] };
}

/** The sentences of a text as `[start, end]`. */
export function sentences(text) {
  const found = [];
  let start = 0;
  const boundary = /(?<!\b(?:e\.g|i\.e|etc|vs|cf|no|approx|St|Inc))[.!?]+["'”)\]]*(?=\s+(?:["'“(\[]*[A-Z0-9*]|code\b|-))|\n\s*\n/g;
  for (const match of text.matchAll(boundary)) {
    const end = match.index + match[0].length;
    found.push([start, end]);
    start = end;
  }
  found.push([start, text.length]);
  return found
    .map(([from, to]) => [from + text.slice(from, to).search(/\S|$/), to])
    .filter(([from, to]) => text.slice(from, to).trim() !== "");
}

/** A rule of textlint from a function that is called with each block and reports `(offset in the block, message)`. */
export function rule(check) {
  return (context, options = {}) => {
    const { RuleError, report, getSource, locator } = context;
    const visit = (node) => {
      const source = node.reading ?? getSource(node);
      const flat = flatten(node, source);
      check(flat, (index, message) => {
        const offset = flat.at[Math.min(index, flat.at.length - 1)] ?? 0;
        report(node, new RuleError(message, { padding: locator.range([offset, offset + 1]) }));
      }, { node, options });
    };
    return Object.fromEntries(blocks.map((block) => [block, visit]));
  };
}
