// Checks links: node links.mjs [--root DIR] [--site DIR]
//
// Relative links and anchors of all Markdown files of the repository, and of each page of the built site. External URLs
// are checked for their form only: nothing is requested. Prints `file:line: message`; exits with 1 where a link is broken.

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { malformed, readHtml, readPage, readText, target } from "./markdown.mjs";
import { listed } from "./tree.mjs";

/** The broken links of Markdown files, of which `files` are all files of the tree. */
export function checkMarkdown(root, files) {
  const known = new Set(files);
  for (const file of files) {
    for (let folder = path.posix.dirname(file); !known.has(folder); folder = path.posix.dirname(folder)) {
      known.add(folder);
    }
  }
  const pages = new Map();
  const page = (file) => {
    if (!pages.has(file)) {
      pages.set(file, readPage(readText(root, file)));
    }
    return pages.get(file);
  };
  const broken = [];
  let count = 0;
  for (const file of files.filter((name) => name.endsWith(".md") && !/\/templates\//.test(name))) {
    for (const { url, line } of page(file).links) {
      count += 1;
      const to = target(url, file);
      let problem;
      if (to.external !== undefined) {
        problem = malformed(to.external);
      } else if (to.absolute) {
        problem = "a link from the root; write a relative one";
      } else if (!known.has(to.file)) {
        problem = "no such file";
      } else if (to.anchor !== undefined) {
        // A folder shows its README.
        const shown = to.file.endsWith(".md") ? to.file : `${to.file}/README.md`;
        if (known.has(shown) && !page(shown).anchors.has(to.anchor)) {
          problem = `no such heading in ${shown}`;
        }
      }
      if (problem) {
        broken.push(`${file}:${line}: ${url}: ${problem}`);
      }
    }
  }
  return { broken, count };
}

/** The broken links of a built site. */
export function checkSite(site) {
  const files = readdirSync(site, { recursive: true }).map((name) => name.split(path.sep).join("/"));
  const pages = new Map(
    files.filter((name) => name.endsWith(".html")).map((name) => [name, readHtml(readFileSync(path.join(site, name), "utf8"))]),
  );
  const broken = [];
  let count = 0;
  for (const [file, { links }] of pages) {
    if (file === "404.html" || file === "print.html") {
      continue;
    }
    for (const url of links) {
      count += 1;
      const to = target(url, file);
      if (to.external !== undefined) {
        continue;
      }
      const name = existsSync(path.join(site, to.file)) && statSync(path.join(site, to.file)).isDirectory() ? path.posix.join(to.file, "index.html") : to.file;
      if (!existsSync(path.join(site, name))) {
        broken.push(`${file}: ${url}: no such file in the site`);
      } else if (to.anchor && pages.has(name) && !pages.get(name).anchors.has(to.anchor)) {
        broken.push(`${file}: ${url}: no such heading in ${name}`);
      }
    }
  }
  return { broken, count, pages: pages.size };
}

function main() {
  const here = path.dirname(fileURLToPath(import.meta.url));
  const { values } = parseArgs({ options: { root: { type: "string" }, site: { type: "string" } } });
  const root = path.resolve(values.root ?? path.join(here, "../.."));
  const { broken, count } = values.site ? checkSite(values.site) : checkMarkdown(root, listed(root));
  broken.forEach((line) => console.log(line));
  const where = values.site ? "the built site" : "Markdown files";
  console.error(`${count} links in ${where}, ${broken.length} broken (external URLs: form only)`);
  process.exitCode = broken.length === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  main();
}
