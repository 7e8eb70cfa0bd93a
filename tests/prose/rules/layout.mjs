import { flatten } from "../prose.mjs";

/**
 * Layout of Markdown: a paragraph or list item is one line, a code fence has a language, a heading is in sentence
 * case, and lists use `-`. `names` are words that keep their capital letter in a heading.
 */
export default (context, { names = [] } = {}) => {
  const { Syntax, RuleError, report, getSource, locator } = context;
  const known = new Set(names);
  const say = (node, message, offset = 0) =>
    report(node, new RuleError(message, { padding: locator.range([offset, offset + 1]) }));
  return {
    [Syntax.Paragraph](node) {
      const source = getSource(node);
      const wrapped = source.search(/(?<! {2}|\\|<br>)\n/);
      if (wrapped >= 0 && !node.generated) {
        say(node, "a hard-wrapped paragraph: write it on one line", wrapped);
      }
    },
    [Syntax.CodeBlock](node) {
      if (/^\s*(?:```|~~~)\s*\n/.test(getSource(node))) {
        say(node, "a code fence without a language");
      }
    },
    [Syntax.ListItem](node) {
      if (/^[*+]\s/.test(getSource(node))) {
        say(node, "a list item that does not begin with `-`");
      }
    },
    [Syntax.Header](node) {
      const { text, at } = flatten(node, getSource(node));
      for (const match of text.matchAll(/(?<=[^\s:.?!]\s+(?:["(]?))[A-Z][a-z]+(?:-[a-z]+)?\b/g)) {
        const type = / \((?:Resource|Data Source|Ephemeral Resource|Function|Action)\)$/.exec(text);
        if (!known.has(match[0]) && !(type && match.index > type.index)) {
          say(node, `"${match[0]}": headings are in sentence case (names: tests/prose/.textlintrc.json)`, at[match.index]);
        }
      }
    },
  };
};
