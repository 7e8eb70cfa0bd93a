import { rule, sentences } from "../prose.mjs";
import { words } from "../words.mjs";

const patterns = words.map(({ find, use, exact }) => ({ find: new RegExp(find.source, exact ? "g" : "gi"), use }));

/** The dictionary. */
export default rule(({ text, at }, report) => {
  for (const [from, to] of sentences(text)) {
    const sentence = text.slice(from, to).replace(/\s/g, " ");
    for (const { find, use } of patterns) {
      for (const match of sentence.matchAll(find)) {
        const lead = match[0].length - match[0].trimStart().length;
        const whole = match[0].trim().replace(/ +/g, " ");
        const found = whole.length > 50 ? `${whole.slice(0, 47)}...` : whole;
        report(from + match.index + lead, `"${found}": write ${use}`);
      }
    }
  }
});
