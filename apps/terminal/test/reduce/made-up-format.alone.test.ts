import type { OutputFormat } from "@remat/reporting/formats";
import { expect, it, vi } from "vitest";
import { appOf, screenText } from "../app/make-app.js";
import { transformer } from "../traces.js";

const columnsFormat = await vi.hoisted(async (): Promise<OutputFormat> => {
  const { terminal } = await import("@remat/trace/emit");
  return {
    name: "columns",
    title: "Columns",
    isForFiles: true,
    write: (document) => terminal.listing(document.records().columns.join("\n")),
  };
});
type Registry = { readonly outputFormats: readonly OutputFormat[] };
vi.mock("../../../../packages/reporting/src/formats/output-formats.js", async (original) => ({
  outputFormats: [...(await original<Registry>()).outputFormats, columnsFormat],
}));

it("exports a view in a made-up format, by the first letter of its name that is free", async () => {
  const { app, press, deeds } = appOf(await transformer(), { view: "modules" });
  press("e");
  expect(screenText(app).at(-1)).toMatch(
    /^export this view as {2}c Columns {2}s CSV {2}j JSON {2}m Markdown {2}Esc cancel/,
  );
  press("c");
  expect(deeds.files).toEqual([expect.objectContaining({ text: expect.stringMatching(/^module\n/) })]);
  expect(deeds.files[0].name).toMatch(/-modules\.columns$/);
});
