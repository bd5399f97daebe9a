import { gzipSync } from "node:zlib";
import fc from "fast-check";
import type { FuzzerKind } from "../campaign.js";
import { explore } from "../explore.js";
import { changeJson, jsonChanges } from "../json-changes.js";
import { quoted, titleOf } from "../test-text.js";
import { byteChanges, changeBytes } from "./byte-changes.js";
import { checkFile } from "./check-file.js";
import { bytesOf, kerasFiles, sampleFiles, settingsFiles } from "./sample-files.js";

/** As text if possible. */
function textOf(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString();
  return Buffer.from(text).equals(bytes)
    ? `Buffer.from(${JSON.stringify(text)})`
    : `Buffer.from(${quoted(Buffer.from(bytes).toString("base64"))}, "base64")`;
}

/** Files of every readable kind, changed by field or by byte, and compressed. */
export const filesKind: FuzzerKind = {
  title: "changed files",
  backends: ["cpu"],
  share: 2,
  run: async (campaign) => {
    const samples = [...(await sampleFiles()), ...(await settingsFiles())];
    const arbitrary = fc
      .record({
        // The many Keras files make up half of the tries.
        sample: fc.oneof(fc.constantFrom(...samples), fc.constantFrom(...kerasFiles())),
        fields: fc.option(jsonChanges, { nil: [] }),
        isZipped: fc.boolean(),
        bytes: byteChanges,
        command: fc.nat(9),
      })
      .map(({ sample: { name, lines, commands, text, run }, fields, isZipped, bytes, command }) => {
        const whole = bytesOf({ lines: changeJson(lines, fields), text });
        const zip = isZipped && name.endsWith("jsonl");
        return {
          name: zip ? `${name}.gz` : name,
          bytes: changeBytes(zip ? gzipSync(whole) : whole, bytes),
          command: commands[command % commands.length],
          run,
        };
      });
    await explore(campaign, {
      arbitrary,
      check: async ({ name, bytes, command, run }) => checkFile(name, bytes, command, run),
      testOf: ({ name, bytes, command, run }, what) =>
        [
          `test(${titleOf(what)}, async () => {`,
          `  const bytes = ${textOf(bytes)};`,
          ...(run === undefined ? [] : [`  const run = ${textOf(run)};`]),
          `  expect(await checkFile(${quoted(name)}, bytes, ${JSON.stringify(command)}${run === undefined ? "" : ", run"})).toBeUndefined();`,
          "});",
        ].join("\n"),
    });
  },
};
