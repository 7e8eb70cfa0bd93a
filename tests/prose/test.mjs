// Runs the tests in test/: prints a line, or all that failed.

import path from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "node:test";
import { readdirSync } from "node:fs";

const folder = path.join(path.dirname(fileURLToPath(import.meta.url)), "test");
const files = readdirSync(folder).filter((name) => name.endsWith(".test.mjs")).map((name) => path.join(folder, name));
let passed = 0;
run({ files, concurrency: true })
  .on("test:pass", ({ details }) => {
    passed += details.type === "suite" ? 0 : 1;
  })
  .on("test:fail", ({ name, details }) => {
    console.error(`FAILED: ${name}\n${details.error?.cause?.message ?? details.error?.message}\n`);
    process.exitCode = 1;
  })
  .on("end", () => console.log(`prose linter: ${passed} tests passed`))
  .resume();
