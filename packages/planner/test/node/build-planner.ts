import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { entrySources } from "../../../../tooling/testkit/workspace-folders.js";
import type * as plannerNode from "../../src/node/index.js";

type PlannerNode = typeof plannerNode;

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const packages = join(root, "packages");
const require = createRequire(import.meta.url);

/**
 * `@remat/planner/node` as it is published, made of the sources as they are: worker threads run JavaScript only. Call `remove` when done.
 */
export async function buildPlanner(): Promise<{ readonly planner: PlannerNode; readonly remove: () => void }> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "remat-planner-")));
  const project = join(folder, "tsconfig.json");
  writeFileSync(
    project,
    JSON.stringify({
      extends: join(packages, "../tsconfig.base.json"),
      compilerOptions: {
        rootDir: packages,
        outDir: folder,
        noEmit: false,
        declaration: false,
        types: [],
        typeRoots: [],
        noCheck: true,
        // By path, since modules found by name are not emitted.
        paths: Object.fromEntries(
          Array.from(entrySources(root), ([specifier, source]) => [specifier, [join(root, source)]]),
        ),
      },
      files: ["index.ts", "search-worker.ts"].map((file) => join(packages, "planner/src/node", file)),
    }),
  );
  const typescript = dirname(require.resolve("typescript/package.json"));
  execFileSync(process.execPath, [join(typescript, "bin/tsc"), "-p", project]);
  mkdirSync(join(folder, "node_modules/@remat"), { recursive: true });
  const emitted = readdirSync(folder, { withFileTypes: true }).filter((each) => each.isDirectory());
  for (const { name } of emitted) {
    if (name === "node_modules") continue;
    writeFileSync(
      join(folder, name, "package.json"),
      '{ "type": "module", "exports": { ".": "./src/index.js", "./*": "./src/*/index.js" } }',
    );
    symlinkSync(join(folder, name), join(folder, "node_modules/@remat", name));
    const own = join(packages, name, "node_modules");
    for (const dependency of existsSync(own) ? readdirSync(own) : [])
      if (/^\w/.test(dependency))
        symlinkSync(realpathSync(join(own, dependency)), join(folder, "node_modules", dependency));
  }
  const entry = pathToFileURL(join(folder, "planner/src/node/index.js")).href;
  return {
    planner: (await import(/* @vite-ignore */ entry)) as PlannerNode,
    remove: () => rmSync(folder, { recursive: true }),
  };
}
