import { terminal } from "@remat/trace/emit";
import { type Command, defineCommand } from "../command.js";
import { versionText } from "../version.js";

export const versionCommand: Command = defineCommand({
  options: [],
  examples: [],
  run: async ({ io }) => void io.stdout.write(terminal`${versionText()}\n`),
});
