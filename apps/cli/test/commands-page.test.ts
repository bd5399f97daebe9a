import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { commands } from "../src/commands/registry.js";
import { commandsPage } from "./commands-page.js";

it("is what the declarations of commands and options say (pnpm reference renews it)", async () => {
  const page = fileURLToPath(new URL("../../../docs/reference/commands.md", import.meta.url));
  await expect(await commandsPage(commands)).toMatchFileSnapshot(page);
});
