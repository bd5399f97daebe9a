import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { readPyTorchTrace } from "@remat/pytorch";
import { summarizeRegions } from "@remat/reporting";
import { regionsDocument } from "@remat/reporting/documents";
import { outputFormats } from "@remat/reporting/formats";
import { type Trace, TraceBuilder } from "@remat/trace";
import { expect, test } from "vitest";

const fixture = new URL("../../../memory/test/fixtures/checkpointed-regions.json.gz", import.meta.url);
const { cases } = JSON.parse(gunzipSync(readFileSync(fixture)).toString()) as {
  cases: readonly { readonly name: string; readonly file: unknown }[];
};
const traceOf = (name: string): Trace => readPyTorchTrace(cases.find((one) => one.name === name)?.file);

test("regions that hold the same for the same reason are one row, with all their bytes", () => {
  const { excesses, heldBytes } = summarizeRegions(traceOf("in_list"));
  expect(excesses.map(({ cause, bytes, maker, regions }) => [cause, bytes, maker, regions.length])).toEqual([
    ["program", 4096, "aten.tanh.default", 2],
  ]);
  expect(heldBytes).toBe(2 * (2048 + 512));
});

test("memory that outlives a region and the one around it is counted once", () => {
  const trace = traceOf("nested");
  const { heldBytes, regions } = summarizeRegions(trace);
  expect(regions.map((region) => region.heldBytes)).toEqual([512, 512, 512]);
  // The result of the outer region is that of its second block; that of the first is gone when the outer one is over.
  expect(heldBytes).toBe(2 * 512);
});

test("the verdict and the tables say what need not be, why, and who", () => {
  const text = regionsDocument(summarizeRegions(traceOf("saved_outside")))
    .parts()
    .flatMap((part) => (part.kind === "text" ? part.lines : part.kind === "table" ? part.rows.flat() : []));
  expect(text[0]).toBe(
    "saved_outside: 2 checkpointed regions. 5 KiB of their tensors stays alive afterwards, 4 KiB of it unnecessarily.",
  );
  expect(text.filter((cell) => cell.startsWith("saved outside by")).map((cell) => cell.split(" ")[3])).toEqual([
    "aten.pow.Tensor_Scalar",
    "aten.cos.default",
  ]);
});

test("a clean run is told as that, and one without regions says where they come from", () => {
  const linesOf = (trace: Trace): readonly string[] => {
    const [part] = regionsDocument(summarizeRegions(trace)).parts();
    return part.kind === "text" ? part.lines : [];
  };
  const first = (trace: Trace): string => linesOf(trace)[0];
  expect(first(traceOf("clean"))).toBe(
    "clean: 2 checkpointed regions. 1 KiB of their tensors stays alive afterwards, all of it results or tensors saved by a policy.",
  );
  const none = (framework: string) =>
    new TraceBuilder({ framework, device: "cpu", mode: "real", allocationUnitBytes: 1 }).build();
  expect(first(none("tfjs"))).toBe("model: no checkpointed region in this run.");
  expect(linesOf(none("tfjs"))[1]).toContain("remat compare MODEL --checkpoint");
  expect(linesOf(none("pytorch"))[1]).toContain("torch.utils.checkpoint");
});

test("every format writes it, and the records add up to what is held", () => {
  const summary = summarizeRegions(traceOf("view_returned"));
  const document = regionsDocument(summary);
  const { columns, rows } = document.records();
  const bytes = columns.indexOf("bytes");
  expect([...rows].reduce((sum, row) => sum + Number(row[bytes]), 0)).toBe(summary.heldBytes);
  for (const format of outputFormats) expect(format.write(document, {})).toContain("Model.blocks.0");
  expect(JSON.parse(JSON.stringify(document.value()))).toMatchObject({ heldBytes: 2048 });
});

test("a region that an op outside had computed again is not said never to have been", () => {
  const summary = summarizeRegions(traceOf("saved_outside"));
  const times = (cause: "readOutside" | "program"): readonly unknown[] => {
    const regions = summary.regions.map((region) => ({
      ...region,
      recomputed: 0,
      kept: region.kept.map((kept) => ({ ...kept, cause })),
    }));
    const table = regionsDocument({ ...summary, regions })
      .parts()
      .find((part) => part.kind === "table" && part.headers.includes("Recomputed"))!;
    return table.kind === "table" ? table.rows.map((row) => row[table.headers.indexOf("Recomputed")]) : [];
  };
  expect(times("readOutside")).toEqual(["outside only", "outside only"]);
  expect(times("program")).toEqual(["never", "never"]);
});
