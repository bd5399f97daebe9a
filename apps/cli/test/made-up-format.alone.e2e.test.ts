import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { DocumentPart, OutputFormat } from "@remat/reporting/formats";
import { goldenFiles } from "@remat/testkit";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { bundleProcesses } from "./bundle-processes.js";
import { bundledPath } from "./bundled-path.js";
import { remat } from "./run.js";

/** A made-up format. A name and a function that writes a document are all that it needs. */
const outlineFormat = await vi.hoisted(async (): Promise<OutputFormat> => {
  const { terminal } = await import("@remat/trace/emit");
  const outline = (part: DocumentPart): string =>
    part.kind === "text"
      ? `text of ${part.lines.length}`
      : part.kind === "facts"
        ? "facts"
        : part.kind === "table"
          ? `table ${part.title ?? "of figures"}, ${part.rows.length} rows`
          : `listing ${part.title ?? part.caption}`;
  return {
    name: "outline",
    title: "Outline",
    isForFiles: true,
    write: (document) =>
      terminal.lines([...document.parts().map(outline), `records of ${document.records().columns.join(" ")}`]),
  };
});
type Registry = { readonly outputFormats: readonly OutputFormat[] };
// The line of the registry.
vi.mock("../../../packages/reporting/src/formats/output-formats.js", async (original) => ({
  outputFormats: [...(await original<Registry>()).outputFormats, outlineFormat],
}));
vi.mock("../src/run/process-paths.js", () => ({ pathOfProcess: (name: string) => bundledPath(processes, name) }));

const transformer = goldenFiles().find(({ name }) => name === "mem_tf_b2_adam")!.path;
const model = fileURLToPath(new URL("../../../examples/foo/model.js", import.meta.url));

let processes: string;
let folder: string;
beforeAll(async () => {
  processes = await bundleProcesses();
  folder = mkdtempSync(join(tmpdir(), "remat-format-"));
  vi.stubEnv("REMAT_CACHE_DIR", folder);
});
afterAll(() => {
  vi.unstubAllEnvs();
  for (const each of [folder, processes]) rmSync(each, { recursive: true, force: true });
});

const outlined = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await remat(...args, "--format", "outline");
  expect({ args, code, stderr }).toMatchObject({ args, code: 0, stderr: "" });
  return stdout;
};

it("is all that has to be written: a made-up format shows what every command finds", async () => {
  expect(await outlined("estimate", transformer)).toMatch(
    /^facts\ntext of \d\ntable Peak memory by category, \d rows\ntable Modules, 1 rows\n/,
  );
  expect(await outlined("memory", transformer, "--snapshots")).toMatch(
    /by category.*listing Snapshots\nrecords of storage bytes/s,
  );
  expect(await outlined("plan", transformer, "--budget", "90%", "--iterations", "10")).toMatch(
    /^facts\ntext of \d\ntable of figures, 3 rows\n.*by category/s,
  );
  expect(await outlined("doctor")).toMatch(/table Backends, best first, 4 rows\n.*\nrecords of package backend/s);
  expect(await outlined("run", model, "--size", "tiny", "--backend", "cpu", "--steps", "1")).toMatch(
    /^facts\ntext of \d\ntable of figures, 6 rows\n.*records of figure predicted measured\n$/s,
  );
});

it("is in help, and in what is said of another", async () => {
  expect((await remat("memory", "--help")).stdout).toContain("table, plain, json, csv, md or outline");
  expect((await remat("memory", transformer, "--format", "xml")).stderr).toContain("csv, md, outline");
});
