import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { drawImportGraph, replaceGraph, withoutImplied } from "../import-graph.js";
import { alsoAllowed, importTable } from "../import-table.js";
import { readPackageImports } from "../package-imports.js";
import { root } from "./lint-fixtures.js";

test("the graph in CONTRIBUTING.md is that of the imports: else run `pnpm graph`", () => {
  const text = readFileSync(join(root, "CONTRIBUTING.md"), "utf8");
  expect(replaceGraph(text, drawImportGraph(readPackageImports(root)))).toBe(text);
});

test("imports are read from imports, exports, dynamic imports and types, and are in the table", () => {
  const imports = readPackageImports(root);
  expect(imports.get("trace")).toEqual(new Set());
  expect([...imports.get("runtime-estimator/benchmark")!].sort()).toContain("runtime-estimator");
  for (const [node, others] of imports)
    for (const other of others)
      if (!node.startsWith(`${other}/`)) {
        const { imports: allowed } = importTable[node];
        // An entry may be allowed one entry point of a package alone.
        const entryPoints = [other, ...(alsoAllowed[other] ?? [])];
        expect(
          allowed.filter((name) => entryPoints.includes(name)),
          `${node} imports ${other}`,
        ).not.toEqual([]);
      }
});

test("no import is allowed that no source makes", () => {
  const imports = readPackageImports(root);
  const unused = Object.entries(importTable).flatMap(([entry, { imports: allowed }]) => {
    // The folders of an app are read as the app.
    const used = imports.get(imports.has(entry) ? entry : entry.split("/")[0])!;
    return allowed
      .filter(
        (name) => ![name, ...(alsoAllowed[name] ?? [])].some((one) => used.has(one) || used.has(one.split("/")[0])),
      )
      .map((name) => `${entry} imports nothing of ${name}`);
  });
  expect(unused).toEqual([]);
});

/** Imports of higher numbers from lower ones. */
const graph = fc.array(fc.tuple(fc.nat(7), fc.nat(7)), { maxLength: 20 }).map((pairs) => {
  const imports = new Map(Array.from({ length: 8 }, (_, node) => [String(node), new Set<string>()]));
  for (const [a, b] of pairs) if (a !== b) imports.get(String(Math.max(a, b)))!.add(String(Math.min(a, b)));
  return imports;
});

function reached(imports: ReadonlyMap<string, ReadonlySet<string>>, node: string): Set<string> {
  return new Set([...imports.get(node)!].flatMap((next) => [next, ...reached(imports, next)]));
}

test("an import that follows from others is left out, and no other", () => {
  fc.assert(
    fc.property(graph, (imports) => {
      const direct = withoutImplied(imports);
      for (const node of imports.keys()) {
        expect(reached(direct, node)).toEqual(reached(imports, node));
        for (const one of direct.get(node)!) {
          const others = new Map(direct).set(node, new Set([...direct.get(node)!].filter((other) => other !== one)));
          expect(reached(others, node)).not.toContain(one);
        }
      }
    }),
  );
});
