import { TraceBuilder } from "@remat/trace";
import { expect, test, vi } from "vitest";
import { oncePerTrace } from "../src/once-per-trace.js";

const emptyTrace = () =>
  new TraceBuilder({ framework: "pytorch", device: "cpu", mode: "real", allocationUnitBytes: 1 }).build();

test.each([[undefined], [1]])("a trace is analysed once, and each trace by itself, result %s", (result) => {
  const analyse = vi.fn(() => result);
  const once = oncePerTrace(analyse);
  const [a, b] = [emptyTrace(), emptyTrace()];
  expect([once(a), once(b), once(a)]).toEqual([result, result, result]);
  expect(analyse.mock.calls).toEqual([[a], [b]]);
});
