import { option } from "./command.js";
import { parseCount } from "./usage-error.js";

/** For commands that search plans. */
export const workersOption = option("--workers <n>", {
  group: "rare",
  access: "data",
  purpose: "Search threads (default: one per core, at most 8)",
  parse: parseCount,
});
