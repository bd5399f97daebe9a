import { buildShell } from "../build-shell.js";

/** Bundles the page from its sources. */
export default async function setup(): Promise<void> {
  await buildShell();
}
