// What manifests say alike is added when a package is packed or published.
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { repositoryFields } from "./tooling/packaging/src/repository-fields.js";

const root = fileURLToPath(new URL(".", import.meta.url));

function beforePacking(manifest, folder) {
  const rootManifest = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
  return { ...manifest, ...repositoryFields(rootManifest, relative(root, folder).replaceAll("\\", "/")) };
}

export const hooks = { beforePacking };
