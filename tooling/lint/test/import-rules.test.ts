import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { workspaceFolders } from "../../testkit/workspace-folders.js";
import { atenHomes, otherAtenNames } from "../aten-names.js";
import { alsoAllowed, entryOf, importTable, packageFolder, sourceFolder } from "../import-table.js";
import { ownFileReaders } from "../own-files.js";
import { architectureTable, purePackages } from "./architecture-table.js";
import { type Finding, lintFiles, root } from "./lint-fixtures.js";

const entries = Object.keys(importTable);
const packages = workspaceFolders(root, ["packages", "apps"]).map((folder) => basename(folder));
const specifiers = [...entries, ...Object.values(alsoAllowed).flat()];

describe("the import table", () => {
  it("is those in ARCHITECTURE.md", () => {
    const table = architectureTable();
    expect(Object.keys(table).sort()).toEqual(entries.filter((entry) => !entry.includes("/")).sort());
    expect(packages.filter((name) => !(name in table))).toEqual([]);
    for (const [name, cell] of Object.entries(table)) {
      const { imports } = importTable[name];
      const [own, tfjs] = cell.split("; tfjs");
      const [root_, ...others] = own.split("; ");
      const named = root_.replaceAll(" (root)", "");
      expect(`${name}: ${named}`).toBe(`${name}: ${imports.length === 0 ? "nothing" : imports.join(", ")}`);
      if (tfjs !== undefined) expect(importTable[name].pure).toBe(false);
      for (const other of others) {
        const match = /^`\.\/([\w-]+)` (also|only) (.+)$/.exec(other);
        expect(match, other).not.toBeNull();
        const [, folder, kind, list = ""] = match!;
        const listed = list === "nothing" ? [] : list.split(", ");
        expect(importTable[`${name}/${folder}`].imports).toEqual(kind === "also" ? [...imports, ...listed] : listed);
      }
    }
    expect(purePackages().filter((name) => !importTable[name].pure)).toEqual([]);
  });

  it("rules sources, and leaves tests alone", () => {
    expect(entryOf("packages/trace/src/index.ts")).toBe("trace");
    expect(entryOf("packages/sac-core/src/fit/find-breaks.ts")).toBe("sac-core");
    expect(entryOf("packages/runtime-estimator/src/benchmark/index.ts")).toBe("runtime-estimator/benchmark");
    expect(entryOf("packages/trace/test/round-trip.test.ts")).toBeUndefined();
    expect(entryOf("apps/cli/src/main.ts")).toBe("cli");
    expect(entryOf("apps/report/page/views/moment.ts")).toBe("report/page");
    expect(entryOf("apps/report/src/data/run-data.ts")).toBe("report/data");
    expect(entryOf("apps/report/src/make/make-report.ts")).toBe("report");
    expect(entryOf("apps/report/build-shell.js")).toBeUndefined();
    expect(entryOf("apps/cli/test/run.ts")).toBeUndefined();
  });
});

it("lists no reader of own files that is gone", () => {
  expect([...ownFileReaders.keys()].filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

it("lists no file with names of ATen ops that has none", () => {
  const has = (path: string) => /["'`/]\^?aten\\?\./.test(readFileSync(join(root, path), "utf8"));
  expect([...otherAtenNames.keys()].filter((path) => !existsSync(join(root, path)) || !has(path))).toEqual([]);
});

describe("the linter", () => {
  const cases: Record<string, { text: string; refused: readonly (readonly [rule: string, message: RegExp])[] }> = {};
  let number = 0;
  const add = (folder: string, text: string, ...refused: (readonly [string, RegExp])[]): void => {
    cases[`${folder}case-${number++}.ts`] = { text, refused };
  };

  // Every package importing every other: exactly those in the table pass.
  for (const entry of entries)
    for (const other of specifiers) {
      const text = `export * from "@remat/${other}";\n`;
      const own = other.split("/")[0] === entry.split("/")[0];
      const { imports } = importTable[entry];
      const allowed = imports.some((name) => name === other || alsoAllowed[name]?.includes(other));
      if (own) add(sourceFolder(entry), text, ["remat(import-table)", /imports its own files by relative path/]);
      else if (allowed) add(sourceFolder(entry), text);
      else
        add(sourceFolder(entry), text, [
          "remat(import-table)",
          new RegExp(`^${entry} may import .*not ${other}: see the table`),
        ]);
    }
  const io = ["remat(program-io)", /in the user's process, where a full disk/] as const;
  const loadedIntoPrograms = /^packages\/(?:dispatch-hook|mod-tracker|tracer|leaks|checkpoint)\/src\//;
  for (const entry of entries) {
    const folder = sourceFolder(entry);
    const { pure } = importTable[entry];
    const noNode = ["remat(import-table)", /imports no Node module/] as const;
    const noTfjs = ["remat(import-table)", /imports no tfjs/] as const;
    for (const text of [
      'import { statSync } from "node:fs";\nexport const read = statSync;\n',
      'export const load = (): Promise<unknown> => import("worker_threads");\n',
    ])
      add(folder, text, ...(pure ? [noNode] : loadedIntoPrograms.test(folder) ? [io] : []));
    if (pure) {
      add(folder, 'import type { Tensor } from "@tensorflow/tfjs-core";\nexport type T = Tensor;\n', noTfjs);
      add(folder, "export const platform: unknown = process;\n", ["eslint(no-restricted-globals)", /process/]);
    } else {
      add(folder, 'export * from "@tensorflow/tfjs-core/dist/engine.js";\n', [
        "remat(import-table)",
        /Deep imports of tfjs fail/,
      ]);
    }
    add(folder, 'export * from "left-pad";\n', [
      "remat(import-table)",
      /left-pad is neither a dependency nor a peer of/,
    ]);
    add(folder, 'export * from "../../../../sac-core/src/index.js";\n', [
      "remat(import-table)",
      /stays within the package's src/,
    ]);
    const touched =
      entry === "dispatch-hook" ? [] : ([["remat(engine-internals)", /Only dispatch-hook touches/]] as const);
    add(folder, "export const e = (tf: { engine(): unknown }): unknown => tf.engine();\n", ...touched);
    add(folder, 'export const e = (tf: { engine(): unknown }): unknown => tf["engine"]();\n', ...touched);
    if (!pure)
      add(folder, 'import { engine as e } from "@tensorflow/tfjs-core";\nexport const x: unknown = e();\n', ...touched);
  }
  add("packages/runtime-estimator/src/", 'export * from "./benchmark/index.js";\n', [
    "remat(import-table)",
    /runtime-estimator is pure, and runtime-estimator\/benchmark is not/,
  ]);
  add("packages/runtime-estimator/src/benchmark/", 'export * from "../index.js";\n');
  add("packages/planner/src/", 'export * from "./node/index.js";\n', [
    "remat(import-table)",
    /planner is pure, and planner\/node is not/,
  ]);
  add("packages/planner/src/node/", 'export { Worker } from "node:worker_threads";\n');
  add("packages/sac-core/src/", 'export * from "@remat/trace";\nexport * from "./fit/index.js";\n');
  add("packages/unheard-of/src/", 'export * from "@remat/trace";\n', ["remat(import-table)", /has no entry/]);
  add("apps/cli/src/", 'import { engine } from "@tensorflow/tfjs-core";\nexport const x: unknown = engine();\n', [
    "remat(engine-internals)",
    /Only dispatch-hook touches/,
  ]);
  // The folders on floors: from each to each, the lower floors pass. A folder that no floor names stands for all of ".".
  for (const [name, { floors }] of Object.entries(importTable))
    for (const [floor, folders] of floors?.entries() ?? [])
      for (const folder of folders)
        for (const [otherFloor, others] of floors!.entries())
          for (const other of others) {
            const text = `export * from "../${other === "." ? "file.js" : `${other}/file.js`}";\n`;
            const path = `${sourceFolder(name)}${folder === "." ? "unnamed" : folder}/`;
            if (other === folder || otherFloor < floor) add(path, text);
            else
              add(path, text, [
                "remat(import-table)",
                new RegExp(`^${folder} of ${name} may import .*not ${other}: see the floors`),
              ]);
          }
  add("apps/terminal/src/text/", 'export * from "../start-terminal.js";\n', [
    "remat(import-table)",
    /^text of terminal may import no other folder, not start-terminal.js: see the floors/,
  ]);
  add("apps/terminal/src/", 'export * from "./app/run-terminal.js";\n');
  add("apps/report/page/views/", 'export * from "../../src/data/run-data.js";\n');
  add("apps/report/page/views/", 'export * from "../../src/make/make-report.js";\n', [
    "remat(import-table)",
    /report\/page is pure, and report is not/,
  ]);
  // Circles of files, though only types go round.
  const circle = [["import(no-cycle)", /Dependency cycle detected/]] as const;
  cases["packages/trace/src/chicken.ts"] = {
    text: 'import type { Egg } from "./egg.js";\nexport interface Chicken {\n  readonly lays: Egg;\n}\n',
    refused: circle,
  };
  cases["packages/trace/src/egg.ts"] = {
    text: 'import type { Chicken } from "./chicken.js";\nexport interface Egg {\n  readonly holds: Chicken;\n}\n',
    refused: circle,
  };
  const opens = (name: string, from = "node:fs"): string =>
    `import { ${name} } from "${from}";\nexport const x: unknown = ${name};\n`;
  for (const name of ["readFileSync", "createReadStream", "openSync"])
    add("apps/cli/src/importers/", opens(name), ["remat(input-files)", new RegExp(`not by ${name} of node:fs`)]);
  add("packages/fit/src/node/", opens("readFile", "node:fs/promises"), [
    "remat(input-files)",
    /readInput, readInputText or openInput/,
  ]);
  add("apps/cli/src/", 'import * as fs from "node:fs";\nexport const x: unknown = fs;\n', ["remat(input-files)", /./]);
  add("apps/cli/src/importers/", opens("statSync"));
  add("apps/cli/test/", opens("readFileSync"));

  const words = ["remat(words)", /Not ".+" but "(recompute|free)/] as const;
  for (const text of [
    "export const rebuildMs = 1;\n",
    "export function letGo(): void {}\n",
    "export const isMadeAgain = true;\n",
    "export interface Freed {\n  readonly discardedBytes: number;\n}\n",
    'export const text = "what is let go of is gone";\n',
    "export const text = (n: number): string => `${n} bytes are made again`;\n",
    "/**\n * What is made\n * again.\n */\nexport const again = 1;\n",
  ])
    for (const folder of ["packages/trace/src/", "apps/report/page/"]) add(folder, text, words);
  const opening = ["remat(words)", /Start with the subject/] as const;
  for (const text of [
    "// Of a run it is the peak.\nexport const peak = 1;\n",
    "/** What a step has of it. */\nexport const part = 1;\n",
    "/**\n * Whether it is\n * pinned.\n */\nexport const isPinned = true;\n",
    'export const text = "Of a trace without ops there is nothing to see.";\n',
    "export const text = (n: number): string => `What has been recorded is ${n} bytes.`;\n",
  ])
    add("packages/trace/src/", text, opening);
  add("packages/trace/src/", 'export const text = "What is peak memory?";\n');
  add("packages/trace/src/", "// By default there is one.\nexport const count = 1;\n");
  add("packages/trace/src/", "// Upstream's name.\nexport const discardedMemory = 1;\n");
  add("packages/trace/src/", "export const outlet = { madeAgainst: 1, letter: 2 };\n");
  add("packages/trace/test/", "export const rebuildMs = 1;\n");
  const events = ["remat(allocation-events)", /Only memory and the trace's own codec name allocation events/] as const;
  for (const text of [
    'import { EventKind } from "@remat/trace";\nexport const kind: number = EventKind.free;\n',
    'import { EventKind } from "@remat/trace";\nexport const kind: number = EventKind["allocate"];\n',
    'import { EventKind } from "@remat/trace";\nconst { resize } = EventKind;\nexport const kind: number = resize;\n',
  ]) {
    for (const folder of [
      "packages/planner/src/",
      "packages/sharding/src/",
      "packages/reporting/src/",
      "apps/report/src/make/",
    ])
      add(folder, text, events);
    for (const folder of ["packages/memory/src/", "packages/planner/test/"]) add(folder, text);
  }
  add(
    "packages/planner/src/",
    'import { EventKind } from "@remat/trace";\nexport const kind: number = EventKind.mark;\n',
  );
  const perCent = [
    "remat(per-cent)",
    /How per cent are written is decided in packages\/reporting\/src\/format-quantity\.ts/,
  ] as const;
  const share = "export const text = (share: number): string => `${Math.round(share * 100)} %`;\n";
  for (const folder of ["packages/reporting/src/", "apps/cli/src/", "apps/report/page/"]) add(folder, share, perCent);
  add("packages/sac-core/src/", share);
  add("apps/cli/src/", "export const text = (percent: string): string => `${percent} % of 100`;\n");
  // Code that is loaded into programs calls Node in one place.
  const asks = [
    'import { statSync } from "node:fs";\nexport const look = statSync;\n',
    'import { connect } from "net";\nexport const open = connect;\n',
    'export { spawn } from "node:child_process";\n',
    'import { Worker } from "node:worker_threads";\nexport const start = Worker;\n',
    "export const here = (): string => process.cwd();\n",
    "export const bytes = (): number => process.memoryUsage.rss();\n",
    'export const fs = (): unknown => process.getBuiltinModule("node:fs");\n',
  ];
  const inPrograms = [
    "packages/program/src/agent/",
    "packages/program/src/agent/record/",
    "packages/program/src/preload/",
    "packages/program/src/outside/",
    "packages/checkpoint/src/budget/",
    "packages/leaks/src/",
  ];
  for (const text of asks) {
    for (const folder of inPrograms) add(folder, text, io);
    for (const folder of ["packages/program/src/", "packages/dispatch-hook/src/backends/node/", "apps/cli/src/"])
      add(folder, text);
    for (const file of ["program/src/outside/program-io.ts", "leaks/src/heap-census.ts"])
      cases[`packages/${file}`] = { text, refused: [] };
  }
  add(
    "packages/program/src/agent/",
    'import { join } from "node:path";\nimport { threadId } from "node:worker_threads";\nexport const file: string = join("a", String(threadId));\n',
  );
  for (const text of [
    'export const isAdd = (name: string): boolean => name === "aten.add.Tensor";\n',
    "export const isAdd = (name: string): boolean => /^aten\\.add_/.test(name);\n",
    "export const named = (packet: string): string => `aten.${packet}.default`;\n",
  ]) {
    for (const folder of ["packages/sharding/src/", "packages/reporting/src/", "apps/cli/src/"])
      add(folder, text, ["remat(aten-names)", /know ATen ops by name/]);
    for (const folder of [...atenHomes, "packages/sharding/test/"]) add(folder, text);
  }
  add("packages/trace/src/", '/** `aten.mm.default` */\nexport const text = "ops by name (aten.mm)";\n');
  // Other rules that the project counts on.
  add("packages/trace/src/", "export const f = (x: any): unknown => x;\n", ["typescript(no-explicit-any)", /any/]);
  add("packages/trace/test/", "export const f = (x: any): unknown => x;\n");
  add("packages/trace/src/", "const unused = 1;\nexport {};\n", ["eslint(no-unused-vars)", /unused/]);
  add(
    "packages/trace/src/",
    "async function work(): Promise<void> {}\nexport function start(): void {\n  work();\n}\n",
    ["typescript(no-floating-promises)", /Promises must be awaited/],
  );
  add("packages/trace/src/", 'export const f = (): void => console.log("hello");\n', ["eslint(no-console)", /console/]);
  add("packages/trace/test/", 'import { it } from "vitest";\nit.only("works", () => {});\n', [
    "vitest(no-focused-tests)",
    /focused|only/i,
  ]);
  add("packages/trace/test/", 'import { it } from "vitest";\nit.skip("works", () => {});\n', [
    "vitest(no-disabled-tests)",
    /disabled|skip/i,
  ]);

  // Manifests that declare what the table allows, and tfjs.
  const manifests = Object.fromEntries(
    [...new Set([...entries.map((entry) => entry.split("/")[0]), "unheard-of"])].map((name) => {
      const imports = entries
        .filter((entry) => entry.split("/")[0] === name)
        .flatMap((entry) => importTable[entry].imports);
      const dependencies = Object.fromEntries(imports.map((other) => [`@remat/${other.split("/")[0]}`, "*"]));
      const manifest = { name: `@remat/${name}`, dependencies, peerDependencies: { "@tensorflow/tfjs-core": "*" } };
      return [`${packageFolder(name)}/package.json`, JSON.stringify(manifest)];
    }),
  );

  let findings: Map<string, Finding[]>;
  beforeAll(() => {
    const texts = Object.entries(cases).map(([path, { text }]) => [path, text] as const);
    findings = group(lintFiles({ ...manifests, ...Object.fromEntries(texts) }));
  });

  it("refuses each forbidden import with its reason, and nothing else", () => {
    const wrong = Object.entries(cases)
      .map(([path, { text, refused }]) => {
        const found = findings.get(path) ?? [];
        const asExpected =
          found.length === refused.length &&
          refused.every(([rule, message], i) => found[i].rule === rule && message.test(found[i].message));
        return asExpected ? undefined : { path, text, expected: refused, found };
      })
      .filter((failure) => failure !== undefined);
    expect(wrong).toEqual([]);
    expect(Object.keys(cases).length).toBeGreaterThan(300);
  });
});

function group(findings: readonly Finding[]): Map<string, Finding[]> {
  const byPath = new Map<string, Finding[]>();
  for (const finding of findings) {
    const list = byPath.get(finding.path) ?? [];
    list.push(finding);
    byPath.set(finding.path, list);
  }
  return byPath;
}
