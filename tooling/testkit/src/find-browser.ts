import { existsSync } from "node:fs";
import { namedBy, onPath } from "./on-path.js";
import { requireTool } from "./require-tool.js";

const names = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"];
const onMac = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome";

/** A Chromium: the one named by `CHROMIUM`, one on the PATH, or Debian's. */
export function findBrowser(): string | undefined {
  return requireTool({
    name: "CHROMIUM",
    find: () => namedBy("CHROMIUM") ?? onPath(...names) ?? (existsSync(onMac) ? onMac : undefined),
    packages: ["chromium"],
    withoutIt: "what runs in a browser is not tested",
    nextStep: "Install one (apt-get install chromium) or name it: CHROMIUM=/path/to/chrome.",
  });
}
