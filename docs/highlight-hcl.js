// Highlights Terraform's language, which mdBook's highlight.js does not include.
hljs.registerLanguage("hcl", (hljs) => ({
  aliases: ["tf", "terraform"],
  keywords: {
    keyword: "resource data ephemeral module provider variable output locals terraform moved import removed check for in if",
    literal: "true false null",
  },
  contains: [
    hljs.HASH_COMMENT_MODE,
    hljs.C_LINE_COMMENT_MODE,
    hljs.C_BLOCK_COMMENT_MODE,
    hljs.NUMBER_MODE,
    { className: "string", begin: /<<-?\w+/, end: /^\s*[A-Z]\w*$/ },
    {
      className: "string",
      begin: '"',
      end: '"',
      contains: [hljs.BACKSLASH_ESCAPE, { className: "subst", begin: /\$\{/, end: /\}/ }],
    },
    { className: "attr", begin: /^\s*[\w-]+(?=\s*=[^=])/ },
    { className: "built_in", begin: /\b[\w:]+(?=\()/ },
  ],
}));
document.querySelectorAll("code.language-hcl").forEach((block) => hljs.highlightBlock(block));
