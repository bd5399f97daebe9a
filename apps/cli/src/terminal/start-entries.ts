import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { StartEntry } from "@remat/terminal";
import { importers } from "../importers/importers.js";

const builtIn: readonly (readonly [file: string, title: string, note: string])[] = [
  ["perceptron", "Example: perceptron", "four dense layers with dropout, a batch of 256"],
  ["small-cnn", "Example: small convolutional network", "three stages on images of 32 × 32, a batch of 64"],
];
/** A folder with more than this is not a folder of models. */
const mostListed = 20;

/**
 * Returns the entries of the start screen except recently opened ones: models and traces of this folder, and examples.
 */
export function startEntries(folder: string): readonly StartEntry[] {
  return [
    ...namesIn(folder)
      .filter((name) => importers.some(({ offered }) => offered?.test(name) === true))
      .slice(0, mostListed)
      .map((name) => ({ title: name, target: join(folder, name), note: "in this folder" })),
    ...builtIn.map(([file, title, note]) => ({
      title,
      target: fileURLToPath(new URL(`./examples/${file}.js`, import.meta.url)),
      note,
    })),
  ];
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}
