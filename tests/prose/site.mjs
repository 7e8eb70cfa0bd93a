// Lays out the documentation site for mdBook: node site.mjs OUT [--root DIR]
//
// OUT receives `book.toml` (from docs/), `src/` with the pages and `src/SUMMARY.md`. A page's front matter is removed. Links
// to files that are not part of the book lead to the repository. `SUMMARY.md` is made from the tree.

import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { readPage, readText, target } from "./markdown.mjs";
import { listed } from "./tree.mjs";

const project = ["architecture", "status", "benchmarks", "kill-points", "real-clouds", "google-double", "runpod-double"];
const firstGuides = ["install", "first-fabric"];
const community = ["CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "CHANGELOG.md"];
const provider = ["resources", "data-sources", "ephemeral-resources", "functions", "list-resources", "actions"];

/** Where a file of the repository is in the book: undefined for one that is not a page. */
export function bookPath(file) {
  if (file === "README.md") {
    return "index.md";
  }
  if (community.includes(file)) {
    return file;
  }
  if (file === "docs/index.md") {
    return "provider.md";
  }
  if (/^docs\/(?!pictures\/).*\.md$/.test(file)) {
    return file.slice("docs/".length).replace(/\/README\.md$/, ".md");
  }
  if (/^(?:modules|examples|tunnel|provider)\/.*\/README\.md$/.test(file)) {
    return file.replace(/\/README\.md$/, ".md");
  }
  return undefined;
}

/** Where a picture or another file that pages show is in the book. */
function assetPath(file) {
  return file.startsWith("docs/") ? file.slice("docs/".length) : `files/${file}`;
}

function escape(title) {
  return title.replace(/[[\]\\]/g, "\\$&");
}

/** The text of a page with links as they are in the book. `assets` gets the files that it shows. */
export function bookPage(text, file, { files, folders, repository, assets }) {
  const page = readPage(text);
  const from = path.posix.dirname(bookPath(file));
  const edits = [];
  for (const { url, start } of page.links) {
    const to = target(url, file);
    if (to.external !== undefined || url.startsWith("#") || start === undefined) {
      continue;
    }
    const anchor = to.anchor === undefined ? "" : `#${to.anchor}`;
    const page_ = bookPath(to.file);
    const readme = folders.has(to.file) && files.has(`${to.file}/README.md`) ? bookPath(`${to.file}/README.md`) : undefined;
    let link;
    if (files.has(to.file) && page_) {
      link = path.posix.relative(from, page_) + anchor;
    } else if (readme) {
      link = path.posix.relative(from, readme) + anchor;
    } else if (files.has(to.file) && /\.(?:svg|png|jpe?g|gif|webp|html)$/.test(to.file)) {
      assets.add(to.file);
      link = path.posix.relative(from, assetPath(to.file));
    } else {
      link = `${repository}/${folders.has(to.file) ? "tree" : "blob"}/main/${to.file}${anchor}`;
    }
    edits.push([start, start + url.length, link]);
  }
  // mdBook makes classes of all words after the fence: only the language is one.
  for (const { start, raw } of page.fences) {
    const info = /^(\s*(?:`{3,}|~{3,})[\w+-]+)([^\n]*)/.exec(raw);
    if (info && info[2] !== "") {
      edits.push([start + info[1].length, start + info[0].length, ""]);
    }
  }
  let result = text;
  for (const [start, end, link] of edits.sort(([one], [other]) => other - one)) {
    result = result.slice(0, start) + link + result.slice(end);
  }
  return result.slice(page.body).trimStart();
}

/** A page that lists others. */
function overviewPage(title, book, members) {
  const from = path.posix.dirname(book);
  const rows = members.map((member) => {
    const about = member.matter.description ? `: ${member.matter.description}` : "";
    return `- [${escape(member.title)}](${path.posix.relative(from, member.book)})${about}`;
  });
  return `# ${title}\n\n${rows.join("\n")}\n`;
}

/** The table of contents, from `{ book, title, matter }` of each page. `write` gets the pages that list others. */
export function summary(pages, write) {
  const group = (title, book, members) => {
    write(book, overviewPage(title, book, members));
    return [`- [${escape(title)}](${book})`, ...members.map((member) => line(member, 1))];
  };
  const left = new Map(pages.map((page) => [page.book, page]));
  const line = ({ title, book }, depth = 0) => `${"  ".repeat(depth)}- [${escape(title)}](${book})`;
  const order = (one, other) => (one.book.replace(/\.md$/, "") < other.book.replace(/\.md$/, "") ? -1 : 1);
  const take = (test) => {
    const taken = [...left.values()].filter(test).sort(order);
    taken.forEach(({ book }) => left.delete(book));
    return taken;
  };
  const within = (folder) => take(({ book }) => book.startsWith(`${folder}/`));
  const named = (names) => names.flatMap((name) => take(({ book }) => book === name));
  const lines = ["# Summary", ""];
  const part = (title, items) => {
    if (items.length > 0) {
      lines.push(`# ${title}`, "", ...items, "");
    }
  };
  lines.push(...named(["index.md"]).map(({ book }) => `[Warren](${book})`), "");
  part("Guides", [...named(firstGuides.map((name) => `guides/${name}.md`)), ...within("guides")].map((page) => line(page)));
  const decisions = within("decisions");
  const about = named(project.map((name) => `${name}.md`));
  const contributing = [...named(["CONTRIBUTING.md"]), ...within("contributing")];
  const last = named(community);
  const overview = named(["provider.md"]);
  const commands = within("cli");

  const subcategories = new Map();
  for (const folder of [...provider, ...provider.map((name) => `reference/${name}`)]) {
    for (const page of within(folder)) {
      const name = page.matter.subcategory || (folder.endsWith("functions") ? "Functions" : "Other");
      subcategories.set(name, [...(subcategories.get(name) ?? []), page]);
    }
  }
  const reference = overview.map((page) => line(page));
  for (const name of [...subcategories.keys()].sort()) {
    const members = subcategories.get(name).map((page) => ({ ...page, title: page.title.replace(/ \(resource\)$/i, "") }));
    reference.push(...group(name, `provider/${name.toLowerCase().replace(/\W+/g, "-")}.md`, members));
  }
  const modules = within("modules");
  const examples = within("examples");
  const others = [...left.values()].sort(order);
  part("Manual", others.map((page) => line(page)));
  part("Commands", commands.map((page) => line(page)));
  part("Provider", reference);
  part("Modules", modules.map((page) => line(page)));
  part("Examples", examples.map((page) => line(page)));
  part("Project", [
    ...about.map((page) => line(page)),
    ...(decisions.length > 0 ? group("Decisions", "decisions.md", decisions) : []),
    ...contributing.map((page) => line(page)),
    ...last.map((page) => line(page)),
  ]);
  return lines.join("\n");
}

/** Writes the source of the book to `out`. */
export function stage(root, out) {
  const all = listed(root);
  const files = new Set(all);
  const folders = new Set(["."]);
  for (const file of all) {
    for (let folder = path.posix.dirname(file); !folders.has(folder); folder = path.posix.dirname(folder)) {
      folders.add(folder);
    }
  }
  const config = readText(root, "docs/book.toml");
  const repository = /^git-repository-url = "(.+)"$/m.exec(config)[1];
  rmSync(out, { recursive: true, force: true });
  const write = (name, text) => {
    mkdirSync(path.dirname(path.join(out, name)), { recursive: true });
    writeFileSync(path.join(out, name), text);
  };
  const assets = new Set();
  const pages = [];
  for (const file of all) {
    const book = bookPath(file);
    if (book) {
      const text = readText(root, file);
      const { title, matter } = readPage(text);
      pages.push({ book, matter, title: title ?? matter.page_title ?? path.basename(file, ".md") });
      write(`src/${book}`, bookPage(text, file, { files, folders, repository, assets }));
    }
  }
  for (const file of assets) {
    mkdirSync(path.dirname(path.join(out, "src", assetPath(file))), { recursive: true });
    cpSync(path.join(root, file), path.join(out, "src", assetPath(file)));
  }
  write("src/SUMMARY.md", summary(pages, (book, text) => write(`src/${book}`, text)));
  for (const [, script] of config.matchAll(/"([\w-]+\.js)"/g)) {
    write(script, readText(root, `docs/${script}`));
  }
  write("book.toml", config);
  return pages.length;
}

function main() {
  const here = path.dirname(fileURLToPath(import.meta.url));
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { root: { type: "string" } } });
  const count = stage(path.resolve(values.root ?? path.join(here, "../..")), path.resolve(positionals[0]));
  console.error(`${count} pages`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  main();
}
