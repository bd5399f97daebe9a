import { heldPeak } from "@remat/memory";
import { parseShardingPlan, simulateFsdp } from "@remat/sharding";
import { Trace } from "@remat/trace";
import { describe, expect, it } from "vitest";
import type { Host } from "../../src/app/host.js";
import type { Opened } from "../../src/state/opened.js";
import { transformer } from "../traces.js";
import { appOf, makeApp, screenText, tableOf } from "./make-app.js";

const former = await transformer();
const remembers: Partial<Host> = { loadView: () => ({ device: "h100" }) };
const textOf = (made: ReturnType<typeof makeApp>): string => screenText(made.app).join("\n");

describe("a device that a trace was left with", () => {
  it("is in force again, and said to be remembered", () => {
    const made = appOf(former, { host: remembers, size: { columns: 140, rows: 30 } });
    expect(made.app.document.settings.device?.name).toBe("h100");
    expect(textOf(made)).toContain("h100 (remembered)");
    expect(made.app.state.notice?.text).toContain("Shown for h100, as in your last session.");
    made.press("q");
    expect(made.deeds.saved[0].view.device).toBe("h100");
  });

  it("gives way to one that is asked for, which is not remembered", () => {
    const made = appOf(former, { host: { ...remembers, isDeviceAsked: true } });
    expect(made.app.document.settings.device?.name).toBe("a100");
    expect(made.app.state.notice).toBeUndefined();
    made.press("q");
    expect(made.deeds.saved[0].view.device).toBeUndefined();
  });

  it("is no part of a comparison: two copies are equal, for a device that is said", async () => {
    const opened: Opened = { kind: "trace", title: "net", path: "/net", trace: former };
    const made = makeApp({ host: { ...remembers, open: async () => opened } });
    await made.app.open("a", "b");
    expect(textOf(made)).toContain("net vs. net, both for A100");
    const differences = (): unknown[] => tableOf(made.app).rows.map((cells) => cells[5]);
    expect(new Set(differences())).toEqual(new Set([0]));
    // A device chosen then applies to both.
    made.press("7", "right", "6");
    expect(made.app.document.settings.device?.name).not.toBe("a100");
    expect(new Set(differences())).toEqual(new Set([0]));
    made.press("q");
    expect(made.deeds.saved[0].view.device).not.toBe("a100");
  });
});

describe("a comparison with a trace that breaks off", () => {
  const broken = new Trace({ ...former, truncated: { line: 400, reason: "not JSON" } });
  const whole: Opened = { kind: "trace", title: "whole", path: "/a", trace: former };
  const damaged: Opened = { kind: "trace", title: "damaged", path: "/b", trace: broken };
  const note = /damaged: the trace is damaged after line 400 \(not JSON\): all figures/;

  it.each([
    ["second", [whole, damaged]],
    ["first", [damaged, whole]],
  ] as const)("says so of the %s as long as it is shown", async (_which, both) => {
    const targets = [...both];
    const made = makeApp({ host: { open: async () => targets.shift()! } });
    await made.app.open("a", "b");
    expect(made.app.state.notice?.text).toMatch(note);
    made.press("down");
    expect(made.app.state.notice).toBeUndefined();
    expect(textOf(made)).toMatch(note);
  });

  it.each([60, 80])("and of one alone in the line of the verdict, at %i columns, after a key, too", (columns) => {
    const made = appOf(broken, { size: { columns, rows: 20 } });
    made.press("down");
    expect(textOf(made)).toContain("Damaged after line 400, peak memory is at least");
    expect(textOf(made)).not.toContain("fits");
  });
});

describe("the step of one of several ranks", () => {
  const four = appOf(former, { view: "devices", size: { columns: 60, rows: 20 } });
  four.press("down", "down", "right", "right");

  it("holds what remat memory --fsdp world=4 says", () => {
    const asked = simulateFsdp(former, parseShardingPlan("world=4"));
    expect(asked.plan.wrap).toEqual(["layers.*"]);
    expect(four.app.document.peak()?.totalBytes).toBe(heldPeak(asked.trace).peakBytes);
    expect(textOf(four)).toContain("FSDP of the root, layers.*");
  });

  it("has no plan of its own, and says so; of what is planned nothing is below a low screen", async () => {
    expect(textOf(four).replace(/\s+/g, " ")).toContain("so that the step on one device stays");
    // Within half of the peak there is a plan before any search, however busy the machine is.
    four.press("down", "right", "right", "right", "right", "p");
    await four.app.runner.works.finish();
    const text = textOf(four);
    for (const fact of ["peak", "budget", "step", "proof"]) expect(text).toMatch(new RegExp(`^  ${fact} `, "m"));
    expect(text.replace(/\s+/g, " ")).toContain("It is for the step on one device, not for one of 4 ranks.");
  });
});
