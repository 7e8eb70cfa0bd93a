// The files of a repository.

import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import path from "node:path";

/** The files that Git does not ignore, below `paths` or all, relative to the root. */
export function listed(root, paths = []) {
  const command = ["-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ...paths];
  const names = execFileSync("git", command, { encoding: "utf8", maxBuffer: 1 << 26 }).split("\0").filter(Boolean);
  return [...new Set(names)].sort().filter((name) => statSync(path.join(root, name), { throwIfNoEntry: false })?.isFile());
}
