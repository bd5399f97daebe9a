// Writes docs/reference/errors.md from the codes and texts in packages/trace/src/error-reference.ts.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { loadSources } from "../testkit/load-sources.js";
import { errorPage, writeErrorPage } from "./error-page.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const { module, close } = await loadSources(`${root}packages/trace/src/error-reference.ts`);
const path = `${root}${errorPage}`;
mkdirSync(dirname(path), { recursive: true });
writeFileSync(path, writeErrorPage(module.errorReference));
await close();
