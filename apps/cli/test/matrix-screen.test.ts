import { PassThrough } from "node:stream";
import { type FitAnswer, type StepsToFit, summarizeFit, unitsOf } from "@remat/fit";
import { deviceSpec } from "@remat/runtime-estimator";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { drawMatrix, firstMatrixState, leftIn, type MatrixState, pressKey } from "../src/fit/matrix-screen.js";
import { pruneInTerminal } from "../src/fit/prune-in-terminal.js";

const steps: StepsToFit = {
  name: "m",
  framework: "pytorch",
  stepAt: () => Promise.reject(new Error("nobody asks for steps here")),
};
const units = unitsOf(
  { devices: [deviceSpec("a100"), deviceSpec("l4")], ranks: [1, 8], ways: ["stock", "recompute"] },
  steps,
);
/** The later, the quicker: the last is the best. */
const answers = units.map(
  ({ configuration }, i): FitAnswer =>
    i === 0
      ? {
          kind: "not-fitting",
          configuration,
          smallest: { batch: 1, peakBytes: 99, binds: "activation", bindsBytes: 98, isProven: true },
        }
      : {
          kind: "fits",
          row: {
            configuration,
            ...{ batch: 10 + i, peakBytes: 100 - i, bytesByCategory: {}, stepMs: 1, overhead: 0 },
            ...{ memoryBytes: 100, microBatches: 1, samplesPerSecond: 100 * i, next: undefined },
          },
        },
);
const summary = summarizeFit(units, answers, { model: "a\u001b[31mb" });
const size = { columns: 80, rows: 24 };

function press(...keys: readonly string[]): MatrixState {
  return keys.reduce((state, key) => pressKey(summary, state, key) ?? state, firstMatrixState);
}

describe("the matrix of what fits on the terminal", () => {
  it("has a row for each device and number of ranks, and a column for each way", () => {
    const rows = drawMatrix(summary, firstMatrixState, size).slice(2, 7);
    expect(rows.map((line) => line.trimEnd())).toEqual([
      "                stock             recompute",
      "a100, 1 rank   \u001b[7m does not fit    \u001b[27m  11 100/s",
      "a100, 8 ranks   12 200/s          13 300/s",
      "l4, 1 rank      14 400/s          15 500/s",
      "l4, 8 ranks     16 600/s         >17 700/s",
    ]);
  });

  it("leaves out the value at the cursor, or all others, and takes that back", () => {
    // The first dimension with several values is the device.
    expect(leftIn(summary, press("down", "down", "x")).best).toMatchObject({
      configuration: { device: "a100", ranks: 8 },
    });
    expect(leftIn(summary, press("o")).best).toMatchObject({ configuration: { device: "a100", ranks: 8 } });
    expect(leftIn(summary, press("tab", "o")).best).toMatchObject({ configuration: { device: "l4", ranks: 1 } });
    expect(leftIn(summary, press("x", "u"))).toEqual(summary);
    expect(pressKey(summary, firstMatrixState, "enter")).toBeUndefined();
  });

  it("stays on the screen and on a cell, whatever is pressed, and writes no control characters of names", () => {
    const keys = fc.array(fc.constantFrom("up", "down", "left", "right", "tab", "x", "o", "u", "?"), { maxLength: 25 });
    const sizes = fc.record({ columns: fc.integer({ min: 30, max: 120 }), rows: fc.integer({ min: 12, max: 40 }) });
    fc.assert(
      fc.property(keys, sizes, (pressed, room) => {
        const state = press(...pressed);
        const lines = drawMatrix(summary, state, room);
        expect(lines.length).toBeLessThanOrEqual(room.rows);
        const text = lines.join("\n");
        expect(text.split("\u001b[7m")).toHaveLength(2);
        const plain = text.replaceAll(/\u001b\[2?7m/g, "");
        expect(plain).not.toContain("\u001b");
        for (const line of plain.split("\n")) expect(line.length).toBeLessThanOrEqual(room.columns);
        expect(leftIn(summary, state).rows.length).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it("gives back what is left, and the terminal as it was", async () => {
    const modes: boolean[] = [];
    const stdin = Object.assign(new PassThrough(), { setRawMode: (isRaw: boolean) => modes.push(isRaw) });
    const stdout = Object.assign(new PassThrough(), { columns: 80, rows: 24 });
    const pruning = pruneInTerminal(summary, {
      stdin: stdin as unknown as NodeJS.ReadStream,
      stdout: stdout as unknown as NodeJS.WriteStream,
    });
    stdin.write("\u001b[B\u001b[Bx\r");
    expect((await pruning).rows.every(({ configuration }) => configuration.device === "a100")).toBe(true);
    expect(modes).toEqual([true, false]);
    const written = (stdout.read() as Buffer).toString();
    expect(written.startsWith("\u001b[?1049h")).toBe(true);
    expect(written.endsWith("\u001b[?1049l")).toBe(true);
  });
});
