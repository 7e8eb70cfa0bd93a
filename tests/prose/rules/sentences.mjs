import { rule, sentences } from "../prose.mjs";

/** Sentences of at most `words` words, and no word twice in a row. */
export default rule(({ text }, report, { node, options }) => {
  for (const [from, to] of sentences(text)) {
    const count = text.slice(from, to).split(/\s+/).filter((word) => /\w/.test(word)).length;
    if (count > (options.words ?? 35)) {
      report(from, `a sentence of ${count} words: split it (at most ${options.words ?? 35})`);
    }
  }
  for (const match of text.matchAll(/(?<![\w-])([A-Za-z]+)\s+\1(?![\w-])/gi)) {
    if (!/^(?:(?:code)+|that|had|x)$/i.test(match[1])) {
      report(match.index, `"${match[0].replace(/\s+/g, " ")}": the same word twice`);
    }
  }
});
