import { degenerateSample, sampledCases } from "@remat/testkit";
import { describe, expect, it } from "vitest";
import { drawScreen } from "../../src/screen/draw-screen.js";
import { exportKeys } from "../../src/state/export-keys.js";
import { globalKeys } from "../../src/state/global-keys.js";
import { views } from "../../src/views/views.js";
import { type Deed, drive, shownState } from "../reduce/drive.js";
import { linesOf } from "./make-app.js";

/** Values that stand where a number or a name is missing. */
const missing = /\bNaN\b|\bundefined\b|\[object |\bInfinity\b/;
const size = { columns: 120, rows: 30 };

const press = (key: string): Deed => ({ kind: "key", key });

// Seed -43403862 of the properties in `reduce.test.ts` found the first of these: Enter in the Held view, with two storages of 0 bytes and no module.
describe("a step with nothing in it", () => {
  it.each(sampledCases(degenerateSample(), 3, 1))("answers every key in every view: $name", ({ trace }) => {
    const start = shownState(views, trace, size);
    for (const [index, view] of views.entries()) {
      const keys = [...view.keys, ...globalKeys(views)].flatMap((binding) => binding.keys);
      const exports = exportKeys.map(({ key }) => ["e", key]);
      for (const deeds of [...keys.map((key) => [key]), ["G", "enter", "enter"], ["/", "R", "enter"], ...exports]) {
        const { states, commands } = drive(views, start, [String(index + 1), ...deeds].map(press));
        const last = states.at(-1)!;
        const shown = linesOf(drawScreen(views, last, size))
          .map((line) => line.map(({ text }) => text).join(""))
          .join("\n");
        const written = commands.flatMap((command) => (command.kind === "writeFile" ? [command.text] : []));
        const where = `${view.name}, ${deeds.join(" ")}`;
        expect(missing.exec(`${shown}\n${written.join("\n")}`)?.input, where).toBeUndefined();
      }
    }
  });
});
