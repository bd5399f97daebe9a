import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { deviceSpecs } from "../../../packages/runtime-estimator/src/index.js";
import { workspaceFolders } from "../../testkit/workspace-folders.js";
import { root } from "./lint-fixtures.js";

/**
 * Names that two packages declare intentionally: a second entry point with the contract of the first. Any other name
 * declared by two packages either duplicates code or has two meanings.
 */
const sameContract: ReadonlySet<string> = new Set(["planCheckpointing", "planSchedules"]);

const declaration = /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|const|class|enum) (\w+)/gm;

const sources: readonly string[] = workspaceFolders(root, ["packages"]).flatMap((folder) =>
  (readdirSync(join(root, folder, "src"), { recursive: true }) as string[])
    .filter((path) => path.endsWith(".ts"))
    .map((path) => `${folder}/src/${path}`),
);

test("a value has one home: no name is declared in two files of the packages", () => {
  const homes = new Map<string, string[]>();
  for (const path of sources)
    for (const [, name] of readFileSync(join(root, path), "utf8").matchAll(declaration))
      homes.set(name, [...(homes.get(name) ?? []), path]);
  expect(homes.size).toBeGreaterThan(900);
  const doubled = Array.from(homes).filter(([name, paths]) => paths.length > 1 && !sameContract.has(name));
  expect(doubled).toEqual([]);
});

test("kernels that draw at random are listed in one place", () => {
  const places = sources.filter((path) =>
    /new Set\(\[[^\]]*\bMultinomial\b/.test(readFileSync(join(root, path), "utf8")),
  );
  expect(places).toEqual(["packages/dispatch-hook/src/kernels/kernel-properties.ts"]);
});

test("pages state the number of devices in the table", () => {
  const pages = ["packages/runtime-estimator/README.md", "docs/concepts/predictions.md", "docs/reference/packages.md"];
  const stated = pages.flatMap((page) =>
    Array.from(readFileSync(join(root, page), "utf8").matchAll(/(\d+) (?:devices|GPUs and CPUs)/g), ([, n]) =>
      Number(n),
    ),
  );
  expect(stated).toEqual(pages.map(() => Object.keys(deviceSpecs).length));
});
