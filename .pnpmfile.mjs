// What manifests say alike is added when a package is packed or published.
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { repositoryFields } from "./tooling/packaging/src/repository-fields.js";

const root = fileURLToPath(new URL(".", import.meta.url));

function beforePacking(manifest, folder) {
  const rootManifest = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
  return {
    ...manifest,
    ...(manifest.exports && { exports: publishedExports(manifest.exports) }),
    ...repositoryFields(rootManifest, relative(root, folder).replaceAll("\\", "/")),
  };
}

/** Without the condition by which the workspace takes packages from their sources, which no tarball holds. */
function publishedExports(exports) {
  return Object.fromEntries(
    Object.entries(exports).map(([entry, conditions]) => {
      if (typeof conditions === "string") return [entry, conditions];
      const { "@remat/source": _, ...published } = conditions;
      return [entry, published];
    }),
  );
}

export const hooks = { beforePacking };
