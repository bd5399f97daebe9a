import { readFileSync } from "node:fs";

/** Returns the command's version from its package. */
export function versionText(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
