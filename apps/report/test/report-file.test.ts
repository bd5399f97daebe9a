import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { writeTrace } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ColumnArray, packColumn, unpackColumn } from "../src/data/column-codec.js";
import { decodeReport, encodeReport } from "../src/data/report-file.js";
import { extractReport, makeReport, renderReport } from "../src/index.js";
import { goldenTrace, stepTrace } from "./traces.js";

const bytesOf = (trace: Parameters<typeof writeTrace>[0]): Buffer => Buffer.concat([...writeTrace(trace)]);

describe("a column", () => {
  const roundTrip = (values: ColumnArray): void => {
    const { column, bytes } = packColumn("a column", values);
    expect(unpackColumn(column, bytes)).toEqual(values);
  };

  it("comes back as it was, whatever it holds", () => {
    const doubles = fc.oneof(
      fc.double(),
      fc.integer(),
      fc.maxSafeInteger(),
      fc.constantFrom(-0, Number.NaN, Number.POSITIVE_INFINITY),
    );
    fc.assert(fc.property(fc.array(doubles), (values) => roundTrip(Float64Array.from(values))));
    fc.assert(fc.property(fc.array(fc.integer()), (values) => roundTrip(Int32Array.from(values))));
    fc.assert(fc.property(fc.array(fc.nat(255)), (values) => roundTrip(Uint8Array.from(values))));
    fc.assert(fc.property(fc.array(fc.nat(65535)), (values) => roundTrip(Uint16Array.from(values))));
  });

  it("takes no byte where it is all zero, and one where it counts", () => {
    expect(packColumn("zero", new Int32Array(1000)).bytes).toHaveLength(0);
    expect(
      packColumn(
        "count",
        Int32Array.from({ length: 1000 }, (_, i) => i),
      ).bytes,
    ).toHaveLength(1000);
  });

  it("is refused where bytes are missing", () => {
    const { column, bytes } = packColumn("count", Int32Array.of(1, 2, 3));
    expect(() => unpackColumn(column, bytes.subarray(1))).toThrow('column "count" has 2 bytes, expected 3');
  });
});

describe("the app", () => {
  it("is at most 150 kB compressed, names nothing outside, and holds no place twice", () => {
    const shell = readFileSync(new URL("../dist/shell.html", import.meta.url), "utf8");
    expect(gzipSync(shell).length).toBeLessThan(150_000);
    const addresses = new Set(shell.match(/https?:\/\/[\w./-]+/g));
    // Names of XML, which nothing fetches.
    expect([...addresses].filter((address) => !address.startsWith("http://www.w3.org/"))).toEqual([]);
    for (const slot of ["title", "body", "data"]) expect(shell.split(`<!--remat:${slot}-->`), slot).toHaveLength(2);
  });
});

describe("a report's data", () => {
  it.each(["mem_02_transformer_adam", "fsdp_tf_ws4_reshard1", "sac_02_transformer", "rt_10a_lstmcell"])(
    "holds the whole run of %s",
    async (name) => {
      const trace = goldenTrace(name);
      const data = await makeReport(trace, { title: name, planTimeMs: 0 });
      const back = extractReport(renderReport(data));
      expect(bytesOf(back.trace).equals(bytesOf(trace))).toBe(true);
      expect(back.meta).toEqual(JSON.parse(JSON.stringify(data.meta)));
    },
  );

  it("keeps names that no page could hold", async () => {
    const name = (layer: number): string =>
      ["</script><script>alert(1)</script>", "__proto__", "a\u2028b", "\ud800", "\0\u0007"][layer];
    const trace = stepTrace({ layers: 5, name });
    const { trace: back } = decodeReport(encodeReport(await makeReport(trace, { title: "x", planTimeMs: 0 })));
    expect(back.modules).toEqual(trace.modules);
  });

  it("is refused where it is of something else", async () => {
    expect(() => extractReport("<html></html>")).toThrow("not a remat report");
    const html = renderReport(await makeReport(stepTrace(), { title: "x", planTimeMs: 0 }));
    expect(() => extractReport(html.replace(/(id="remat-data"[^>]*>.{40}).{8}/, "$1AAAAAAAA"))).toThrow(
      "data is damaged",
    );
    expect(() => decodeReport(Uint8Array.of(2, 0, 0, 0, 123, 125))).toThrow(
      "expected data of format remat-report/2, found null",
    );
  });
});
