import { terminal } from "@remat/trace/emit";
import type { Command } from "../command.js";
import { versionText } from "../version.js";

/** `remat version`. */
export const versionCommand: Command = {
  options: [],
  examples: [],
  run: async (_targets, _options, io) => void io.stdout.write(terminal`${versionText()}\n`),
};
