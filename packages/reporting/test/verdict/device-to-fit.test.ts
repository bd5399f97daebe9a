import { Trace } from "@remat/trace";
import { expect, it } from "vitest";
import { deviceToFit } from "../../src/verdict/index.js";
import { goldenTrace } from "../golden-trace.js";

const trace = goldenTrace("mem_min_adam");
const recordedOn = (deviceMemoryBytes: number): Trace =>
  new Trace({ ...trace, header: { ...trace.header, deviceMemoryBytes } });
const device = { name: "a100", memoryBytes: 80, link: "not copied" };

it("is the one that was asked for, else where the step was recorded, else the default", () => {
  expect(deviceToFit(recordedOn(16), device, true)).toBe(device);
  expect(deviceToFit(recordedOn(16), device, false)).toEqual({ name: "where it was recorded", memoryBytes: 16 });
  expect(deviceToFit(recordedOn(0), device, false)).toEqual({ name: "where it was recorded", memoryBytes: 0 });
  expect(deviceToFit(trace, device, true)).toBe(device);
  expect(deviceToFit(trace, device, false)).toEqual({ name: "a100", memoryBytes: 80, isDefault: true });
  expect(Object.keys(deviceToFit(trace, { name: "mine" }, false))).toEqual(["name", "isDefault"]);
});
