import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { findBackend, isKnown, kernelsOfBackend } from "@remat/dispatch-hook/backends";
import { nativeVersion } from "@remat/dispatch-hook/backends/node";
import { allKernels } from "@remat/dispatch-hook/kernels";
import { getKernelsForBackend } from "@tensorflow/tfjs-core";
import type { NodeJSKernelBackend } from "@tensorflow/tfjs-node/dist/nodejs_kernel_backend.js";
import { describe, expect, expectTypeOf, test } from "vitest";

const require = createRequire(import.meta.url);
const textOf = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");

const workspace = textOf("../../../pnpm-workspace.yaml");
const lock = textOf("../../../pnpm-lock.yaml");
const { packages: pinned } = JSON.parse(textOf("../../../apps/cli/src/native/pins.json")) as {
  packages: Record<string, { version: string; integrity: string }>;
};

describe.each(["tfjs-node", "tfjs-node-gpu"])("@tensorflow/%s", (short) => {
  const name = `@tensorflow/${short}`;

  test("is built by `remat setup native` in the release that the catalog declares, from the same tarball", () => {
    const declared = new RegExp(`^  "${name}": ([\\d.]+)$`, "m").exec(workspace)?.[1];
    expect(declared).toBeDefined();
    expect([pinned[short].version, nativeVersion]).toEqual([declared, declared]);
    const integrity = new RegExp(`'${name}@${declared}':\\n    resolution: {integrity: ([^}]+)}`).exec(lock)?.[1];
    expect(pinned[short].integrity).toBe(integrity);
  });

  test("is installed without running its script, which downloads libtensorflow", () => {
    const { version, scripts } = require(`${name}/package.json`) as {
      version: string;
      scripts: Record<string, string>;
    };
    expect(version).toBe(pinned[short].version);
    expect(scripts["install"]).toBeDefined();
    expect(workspace).toMatch(new RegExp(`^  "${name}": false$`, "m"));
    expect(existsSync(join(dirname(require.resolve(`${name}/package.json`)), "deps"))).toBe(false);
  });

  test("is an optional peer of the packages that load it", () => {
    for (const folder of ["packages/dispatch-hook", "packages/remat", "apps/cli"]) {
      const { peerDependencies, peerDependenciesMeta } = JSON.parse(textOf(`../../../${folder}/package.json`)) as {
        peerDependencies: Record<string, string>;
        peerDependenciesMeta: Record<string, object>;
      };
      expect(peerDependencies[name], folder).toBe("catalog:supported");
      expect(peerDependenciesMeta[name], folder).toEqual({ optional: true });
    }
  });
});

test("tfjs-node registers the kernels that the table of the native backend has", () => {
  require("@tensorflow/tfjs-node/dist/register_all_kernels.js");
  const registered = getKernelsForBackend("tensorflow").map(({ kernelName }) => kernelName);
  const kernels = kernelsOfBackend(findBackend("tensorflow"));
  if (!isKnown(kernels)) throw new Error(kernels.unknown);
  expect(registered.sort()).toEqual([...allKernels.keys()].filter((kernel) => !kernels.lacks.has(kernel)).sort());
});

test("tfjs-node's backend has the members that remat reads", () => {
  expectTypeOf<NodeJSKernelBackend["isUsingGpuDevice"]>().toEqualTypeOf<boolean>();
  expectTypeOf<NodeJSKernelBackend["binding"]["TF_Version"]>().toEqualTypeOf<string>();
});
