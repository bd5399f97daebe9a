import { formatBytes, labelCategory, viewStep } from "@remat/reporting";
import { expect, it } from "vitest";
import { drawLive, type LiveState } from "../../src/screen/live-screen.js";
import { asciiGlyphs, unicodeGlyphs } from "../../src/text/glyphs.js";
import { lineWidth } from "../../src/text/line.js";
import { evilTrace, resnet50 } from "../traces.js";

const view = viewStep(await resnet50())!;
const step = (pass: number) => ({ pass, name: "net by Adam", stepMs: 12, view, memoryBytes: 2 ** 34 });
const waiting: LiveState = {
  program: "node train.js",
  steps: [],
  most: undefined,
  output: ["loss 0.5"],
  isPaused: false,
  ended: undefined,
};
const training: LiveState = { ...waiting, steps: [step(1), step(9), step(17)], most: step(9) };
const looks = [unicodeGlyphs, asciiGlyphs].map((glyphs) => ({
  theme: "dark" as const,
  depth: "none" as const,
  glyphs,
  isPlain: true,
}));
const textOf = (state: LiveState, columns: number, rows: number, look = looks[0]): readonly string[] =>
  drawLive(state, { columns, rows }, look).map((line) => line.map(({ text }) => text).join(""));

it.each([
  [60, 20],
  [80, 24],
  [120, 40],
  [40, 6],
])("tells peak, its share of the machine, what makes it, and what the program writes, at %d × %d", (columns, rows) => {
  for (const look of looks) {
    const lines = drawLive(training, { columns, rows }, look);
    expect(lines).toHaveLength(rows);
    for (const line of lines) expect(lineWidth(line)).toBeLessThanOrEqual(columns);
    const text = textOf(training, columns, rows, look).join("\n");
    expect(text).toContain("node train.js");
    expect(text).toContain(`peak ${formatBytes(view.peakBytes)} of 16 GiB`);
    expect(text).toContain("loss 0.5");
    if (rows < 20) continue;
    expect(text).toContain(`in ${view.peakOp}`);
    for (const { label, bytes } of view.categories.slice(0, 3)) {
      expect(text).toContain(label);
      expect(text).toContain(formatBytes(bytes));
    }
    // The legend explains every colour, below the plot and next to its fill.
    const shown = textOf(training, columns, rows, look);
    const begin = shown.findIndex((line) => line.startsWith("     pass")) + 1;
    const end = shown.findIndex((line) => line.startsWith(" Live tensors"));
    const legend = shown.slice(begin, end).join(" ");
    for (const [category, bytes] of view.bands)
      if (bytes.some((value) => value > 0)) expect(legend).toContain(labelCategory(category));
    expect(legend).not.toContain("smaller");
    for (const pass of [1, 9, 17]) expect(text).toContain(`${look.glyphs.corner}${pass}`);
  }
});

it("says that no step has been seen, that the picture is held, and how the program ended", () => {
  expect(textOf(waiting, 80, 24).join("\n")).toContain("Waiting for the first training step");
  expect(textOf({ ...training, isPaused: true }, 80, 24)[0]).toContain("paused");
  expect(textOf({ ...training, ended: "has ended" }, 80, 24)[0]).toContain("has ended");
});

it("writes out what a program writes to obey a terminal", () => {
  const evil = { ...training, output: ["\u001b[2J gone"], steps: [{ ...step(1), view: viewStep(evilTrace())! }] };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is sought.
  for (const line of textOf(evil, 80, 24)) expect(line).not.toMatch(/[\u0000-\u001f]/);
});
