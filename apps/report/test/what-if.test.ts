import { answeredWhatIf, formatMs, refusedWhatIf } from "@remat/reporting";
import { expect, it } from "vitest";
import { whatIfHtml } from "../src/html/what-if-html.js";

const device = { name: "small <b>", memoryBytes: 2 ** 20 };

it("shows each answer beside the step as it is, numbers for programs too, and why something is refused", () => {
  const step = (peakBytes: number, stepMs: number | undefined) => ({ peakBytes, bytesByCategory: {}, stepMs, device });
  const rowsShown = [
    answeredWhatIf("as it is", step(2 ** 19, 2)),
    answeredWhatIf("batch=64", step(2 ** 21, undefined)),
    refusedWhatIf("optimizer=<i>", "record it again & again"),
  ];
  const { html } = whatIfHtml(rowsShown, formatMs);
  const rows = [...html.matchAll(/<tr>(<th scope="row">.*?)<\/tr>/g)].map(([, row]) => row);
  expect(rows).toEqual([
    '<th scope="row">as it is</th><td class="number" data-value="524288">512 KiB</td><td class="number"></td><td>yes</td><td class="number" data-value="2">2 ms</td>',
    '<th scope="row">batch=<wbr>64</th><td class="number" data-value="2097152">2 MiB</td><td class="number" data-value="3">+300.0%</td><td>no</td><td class="number"></td>',
    '<th scope="row">optimizer=<wbr>&lt;i&gt;</th><td colspan="4" class="reason">record it again &amp; again</td>',
  ]);
});

it("says below why a rank holds more than one device", () => {
  const step = { peakBytes: 2 ** 20, bytesByCategory: {}, stepMs: 1, device };
  const rowsShown = [
    answeredWhatIf("as it is", step),
    answeredWhatIf("world=64", { ...step, peakBytes: 2 ** 21, reason: "more than on one device: a <reason>" }),
    answeredWhatIf("world=2", { ...step, peakBytes: 2 ** 19 }),
  ];
  const { html } = whatIfHtml(rowsShown, formatMs);
  expect([...html.matchAll(/<li>(.*?)<\/li>/g)].map(([, item]) => item)).toEqual([
    "world=<wbr>64: more than on one device: a &lt;reason&gt;.",
  ]);
});

it("is left out where nothing was asked", () => {
  expect(whatIfHtml([], formatMs).html).toBe("");
});
