import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";

import { checkMarkdown, checkSite } from "../links.mjs";
import { bookPage, bookPath, summary } from "../site.mjs";

function folder(files) {
  const root = mkdtempSync(path.join(os.tmpdir(), "warren-site-"));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  }
  return root;
}

test("links of Markdown files: files, folders, headings", () => {
  const files = {
    "README.md": "# Top\n\n[a](docs/a.md#one) [b](docs) [c](#top) [d](https://example.com/x) ![e](docs/e.svg)\n",
    "docs/a.md": "# One\n\n[a](../missing.md)\n\n[b](../README.md#two)\n\n[c](http://)\n\n[d](/README.md)\n\n<img src=\"no.png\">\n\n[e](../mod#gone)\n",
    "docs/e.svg": "",
    "mod/README.md": "# Mod\n",
  };
  const root = folder(files);
  const { broken, count } = checkMarkdown(root, Object.keys(files));
  rmSync(root, { recursive: true });
  assert.equal(count, 11);
  assert.deepEqual(broken, [
    "docs/a.md:3: ../missing.md: no such file",
    "docs/a.md:5: ../README.md#two: no such heading in README.md",
    "docs/a.md:7: http://: not a URL",
    "docs/a.md:9: /README.md: a link from the root; write a relative one",
    "docs/a.md:11: no.png: no such file",
    "docs/a.md:13: ../mod#gone: no such heading in mod/README.md",
  ]);
});

test("links of a built site", () => {
  const root = folder({
    "index.html": '<h1 id="top"></h1><a href="a/b.html#x"></a><a href="a/b.html#y"></a><img src="no.png">',
    "a/b.html": '<h2 id="x"></h2><a href="../index.html#top"></a>',
  });
  const { broken, count } = checkSite(root);
  rmSync(root, { recursive: true });
  assert.equal(count, 4);
  assert.deepEqual(broken, ["index.html: a/b.html#y: no such heading in a/b.html", "index.html: no.png: no such file in the site"]);
});

test("a page of the book has no front matter, and its links are those of the book", () => {
  const all = ["docs/guides/a.md", "docs/index.md", "docs/p.svg", "modules/hub/README.md", "examples/x/main.tf"];
  const tree = { files: new Set(all), folders: new Set(["modules/hub", "examples/x"]), repository: "https://host/repo", assets: new Set() };
  const text = [
    "---", "page_title: A", "---", "", "# A", "",
    "[i](../index.md#x) [m](../../modules/hub) [e](../../examples/x) [f](../../examples/x/main.tf) [h](#a) [w](https://e.org/)", "",
    "![p](../p.svg)", "", '```hcl file=main.tf', "a = 1", "```", "",
  ].join("\n");
  assert.equal(
    bookPage(text, "docs/guides/a.md", tree),
    [
      "# A", "",
      "[i](../provider.md#x) [m](../modules/hub.md) [e](https://host/repo/tree/main/examples/x) [f](https://host/repo/blob/main/examples/x/main.tf) [h](#a) [w](https://e.org/)", "",
      "![p](../p.svg)", "", "```hcl", "a = 1", "```", "",
    ].join("\n"),
  );
  assert.deepEqual([...tree.assets], ["docs/p.svg"]);
});

test("the table of contents lists every page once", () => {
  const names = ["README.md", "docs/index.md", "docs/guides/b.md", "docs/guides/install.md", "docs/resources/x.md", "docs/tunnel.md", "CONTRIBUTING.md", "docs/decisions/001.md"];
  const pages = names.map((name) => ({ book: bookPath(name), title: name, matter: name.includes("resources") ? { subcategory: "AWS" } : {} }));
  const written = [];
  const text = summary(pages, (name) => written.push(name));
  for (const { book } of pages) {
    assert.equal(text.split(`(${book})`).length, 2, book);
  }
  assert.ok(text.indexOf("guides/install.md") < text.indexOf("guides/b.md"));
  assert.match(text, /- \[AWS\]\(provider\/aws\.md\)\n {2}- \[docs\/resources\/x\.md\]/);
  assert.deepEqual(written, ["provider/aws.md", "decisions.md"]);
});
