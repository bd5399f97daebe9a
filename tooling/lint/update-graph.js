// Redraws the graph in CONTRIBUTING.md from the imports in the sources.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { drawImportGraph, replaceGraph } from "./import-graph.js";
import { readPackageImports } from "./package-imports.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const path = `${root}CONTRIBUTING.md`;
writeFileSync(path, replaceGraph(readFileSync(path, "utf8"), drawImportGraph(readPackageImports(root))));
