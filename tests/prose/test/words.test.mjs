import assert from "node:assert/strict";
import { test } from "node:test";

import { lint } from "../lint.mjs";
import { words } from "../words.mjs";

const found = async (sentence) => (await lint(`${sentence}\n`, "x.md")).map(({ message }) => message);

for (const { find, use, bad, good } of words) {
  test(`${find.source.slice(0, 60)}`, async () => {
    assert.ok(bad.length > 0 && good.length > 0);
    for (const sentence of bad) {
      const messages = await found(sentence);
      assert.ok(messages.some((message) => message.endsWith(`write ${use}`)), `not found in: ${sentence} (${messages})`);
    }
    for (const sentence of good) {
      assert.deepEqual(await found(sentence), [], sentence);
    }
  });
}
