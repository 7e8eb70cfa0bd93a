// Pages in Markdown, their anchors and their links.

import { readFileSync } from "node:fs";
import path from "node:path";

import { parse } from "@textlint/markdown-to-ast";
import GithubSlugger from "github-slugger";
import { Parser } from "htmlparser2";

/** Calls `visit` with a node and all below it. */
export function walk(node, visit) {
  visit(node);
  (node.children ?? []).forEach((child) => walk(child, visit));
}

/** The text of a node without markup. */
export function plain(node) {
  return node.children ? node.children.map(plain).join("") : node.type === "Html" ? "" : (node.value ?? node.alt ?? "");
}

const html = { a: ["href"], img: ["src"], source: ["src", "srcset"], link: ["href"], script: ["src"], iframe: ["src"] };

/** The anchors and links of HTML. */
export function readHtml(text) {
  const anchors = new Set();
  const links = [];
  const parser = new Parser({
    onopentag(name, attributes) {
      for (const anchor of [attributes.id, name === "a" ? attributes.name : undefined]) {
        if (anchor) {
          anchors.add(anchor);
        }
      }
      for (const attribute of html[name] ?? []) {
        if (attributes[attribute]) {
          links.push(attributes[attribute].split(/\s/)[0]);
        }
      }
    },
  });
  parser.write(text);
  parser.end();
  return { anchors, links };
}

/** A page: title, anchors, links with their positions, front matter, code blocks. */
export function readPage(text) {
  const tree = parse(text);
  const slugger = new GithubSlugger();
  const page = { title: undefined, anchors: new Set(), links: [], fences: [], body: 0, matter: {} };
  walk(tree, (node) => {
    switch (node.type) {
      case "Yaml":
        page.body = node.range[1];
        for (const [, key, value] of (node.value ?? "").matchAll(/^(\w+):[ \t]*((?:.*)(?:\n[ \t]+.*)*)$/gm)) {
          page.matter[key] = value.replace(/^[|>]-?\s*\n/, "").replace(/\s+/g, " ").trim().replace(/^(["'])(.*)\1$/, "$2");
        }
        break;
      case "Header":
        page.title ??= node.depth === 1 ? plain(node) : undefined;
        page.anchors.add(slugger.slug(plain(node)));
        break;
      case "CodeBlock":
        page.fences.push({ start: node.range[0], raw: node.raw });
        break;
      case "Link":
      case "Image":
      case "Definition": {
        const at = node.raw.lastIndexOf(node.url);
        page.links.push({ url: node.url, line: node.loc.start.line, start: at < 0 ? undefined : node.range[0] + at });
        break;
      }
      case "Html":
      case "HtmlBlock": {
        const found = readHtml(node.raw);
        found.anchors.forEach((anchor) => page.anchors.add(anchor));
        let from = 0;
        for (const url of found.links) {
          from = node.raw.indexOf(url, from);
          page.links.push({ url, line: node.loc.start.line, start: node.range[0] + from });
          from += url.length;
        }
        break;
      }
      default:
    }
  });
  return page;
}

/** What a link leads to: another host, or a file of the tree with an anchor. */
export function target(url, from) {
  if (/^[a-z][a-z0-9+.-]*:/i.test(url) || url.startsWith("//")) {
    return { external: url };
  }
  const [file, anchor] = url.split("#");
  const name = decodeURIComponent(file.split("?")[0]);
  return {
    file: name === "" ? from : path.posix.normalize(path.posix.join(path.posix.dirname(from), name)).replace(/\/$/, ""),
    anchor: anchor === undefined ? undefined : decodeURIComponent(anchor),
    absolute: name.startsWith("/"),
  };
}

/** What is wrong with the form of an external URL, if anything. */
export function malformed(url) {
  try {
    const { protocol, hostname } = new URL(url);
    return protocol === "mailto:" || (/^https?:$/.test(protocol) && hostname !== "") ? undefined : "not an HTTP URL";
  } catch {
    return "not a URL";
  }
}

export function readText(root, file) {
  return readFileSync(path.join(root, file), "utf8");
}
