import { RematError } from "@remat/trace";
import { memoryUnits } from "@remat/trace/text";
import { describe, expect, it } from "vitest";
import { parseMemoryUnit } from "../../src/tracker/parse-memory-unit.js";

describe("parseMemoryUnit", () => {
  it("knows four units", () => expect(memoryUnits.map(parseMemoryUnit)).toEqual(["B", "KiB", "MiB", "GiB"]));

  it.each(["MB", "kib", "", "toString"])("refuses %j", (text) => {
    expect(() => parseMemoryUnit(text)).toThrow(
      new RematError(
        "UNKNOWN_UNIT",
        `unknown unit ${JSON.stringify(text)}. Use one of B, KiB, MiB, GiB; capital letters matter, and KiB is 1024 bytes.`,
      ),
    );
  });
});
