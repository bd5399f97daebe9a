#!/usr/bin/env node
// Writes apps/cli/src/native/pins.json again: the files that `remat setup native` downloads, with their hashes. The
// release of tfjs-node is the one that pnpm-workspace.yaml declares. To update it, for that release, for another
// TensorFlow or for newer dependencies: run `pnpm pins [TENSORFLOW]`, review the difference, run
// `pnpm vitest run --project ci --project cli native`, and build with `node tooling/ci/build-native.js`. The hashes
// come from npm's registry and PyPI (or PIP_INDEX_URL).
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const file = new URL("../../apps/cli/src/native/pins.json", import.meta.url);
const before = JSON.parse(readFileSync(file, "utf8"));
const [tensorflow = before.wheels.x64.version] = process.argv.slice(2);
const { version: tfjsNode } = createRequire(import.meta.url)("@tensorflow/tfjs-node/package.json");

/** @param {string} name */
function lock(name) {
  const folder = mkdtempSync(join(tmpdir(), "remat-pins-"));
  try {
    writeFileSync(join(folder, "package.json"), JSON.stringify({ dependencies: { [name]: tfjsNode } }));
    execFileSync("npm", ["install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"], {
      cwd: folder,
    });
    const { packages } = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8"));
    const { [""]: _, [`node_modules/${name}`]: own, ...others } = packages;
    return {
      own: essential(own),
      others: Object.fromEntries(Object.entries(others).map(([k, v]) => [k, essential(v)])),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * Removes an entry's address, which depends on the user's registry, and informational fields.
 *
 * @param {Record<string, unknown>} entry
 */
function essential({ resolved, license, funding, engines, deprecated, bin, ...needed }) {
  return needed;
}

/** @param {{ project: string, fileName: string }} wheel */
async function renewWheel(wheel) {
  const fileName = wheel.fileName.replace(/-[^-]+/, `-${tensorflow}`);
  const index = (process.env.PIP_INDEX_URL ?? "https://pypi.org/simple").replace(/\/+$/, "");
  const page = await (await fetch(`${index}/${wheel.project}/`, { headers: { accept: "text/html" } })).text();
  const sha256 = new RegExp(`${fileName.replaceAll(".", "\\.")}#sha256=([0-9a-f]{64})`).exec(page)?.[1];
  if (sha256 === undefined) throw new Error(`the index has no ${fileName}; change the name in pins.json`);
  return { ...wheel, version: tensorflow, fileName, sha256 };
}

const [node, gpu] = ["@tensorflow/tfjs-node", "@tensorflow/tfjs-node-gpu"].map(lock);
if (JSON.stringify(node.others) !== JSON.stringify(gpu.others))
  throw new Error("tfjs-node and tfjs-node-gpu have other dependencies: pins.json holds one list for both");
/** @type {Record<string, unknown>} */
const wheels = {};
for (const [system, wheel] of Object.entries(before.wheels)) wheels[system] = await renewWheel(wheel);
const pins = { wheels, packages: { "tfjs-node": node.own, "tfjs-node-gpu": gpu.own }, dependencies: node.others };
writeFileSync(file, `${JSON.stringify(pins, undefined, 2)}\n`);
execFileSync("pnpm", ["biome", "format", "--write", file.pathname]);
