import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { machineMemoryBytes } from "@remat/dispatch-hook/backends";
import { goldenFiles } from "@remat/testkit";
import { afterAll, describe, expect, it } from "vitest";
import { remat, rematIn } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-verdict-"));
afterAll(() => rmSync(folder, { recursive: true }));

const model = fileURLToPath(new URL("../../../examples/keras/mobilenet_v2.model.json", import.meta.url));
const golden = goldenFiles().find(({ name }) => name === "mem_02_transformer_adam")!.path;
/** Paths differ from machine to machine, and what lines they break. */
const shown = (text: string) => text.replaceAll(model, "model.json").replaceAll(golden, "run.json.gz");

/** A device by its file, with so much memory. */
function deviceWith(memoryBytes: number): string {
  const path = join(folder, `${memoryBytes}.json`);
  const figures = { name: "mine", tflops: { float32: 19.5 }, memoryGBps: 2039, memoryBytes, allocationUnitBytes: 1 };
  writeFileSync(path, JSON.stringify(figures));
  return path;
}

interface Judged {
  readonly peakBytes?: number;
  readonly stockPeakBytes?: number;
  readonly verdict: {
    readonly peakBytes: number;
    readonly fits: boolean;
    readonly spareBytes: number;
    readonly command: string;
    readonly sentence: string;
    readonly ways?: readonly { readonly kind: string; readonly peakBytes: number }[];
  };
}
async function judged(...args: string[]): Promise<Judged> {
  const { code, stdout, stderr } = await remat(...args, "--format", "json");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout) as Judged;
}

/** Arguments of `remat` in a command line. */
const words = (command: string): string[] => command.split(" ").slice(1);

describe("the verdict", () => {
  it("is the same of every command, and its peak that of each", async () => {
    const budget = ["--budget", "90%", "--iterations", "20"];
    const [estimate, memory, plan] = [
      await judged("estimate", model, "--batch", "2"),
      await judged("memory", model, "--batch", "2"),
      await judged("plan", model, "--batch", "2", ...budget),
    ];
    expect(memory.verdict).toEqual(estimate.verdict);
    expect(memory.verdict.peakBytes).toBe(memory.peakBytes);
    expect(plan.verdict.peakBytes).toBe(memory.peakBytes);
    expect(plan.stockPeakBytes).toBe(memory.peakBytes);
    const table = await remat("memory", model, "--batch", "2");
    expect(
      table.stdout
        .split("\n\n", 1)[0]
        .split(/\n| {2}(?=remat )/)
        .join(" "),
    ).toBe(memory.verdict.sentence);
    const view = await rematIn({}, "ui", model, "--batch", "2", "--once", "--view", "memory", "--columns", "120");
    expect(view.stdout.split("\n", 1)[0]).toBe(/^Fits: .*?\)\./.exec(memory.verdict.sentence)![0]);
  });

  it("names a command that works: the next step of what fits", async () => {
    const { verdict } = await judged("memory", golden);
    expect(verdict.command).toBe(`remat plan ${golden} --max-overhead 5%`);
    expect((await remat(...words(verdict.command), "--iterations", "20")).code).toBe(0);
  });

  it("says what makes a step fit that does not, and what is typed for it", async () => {
    const { peakBytes } = (await judged("memory", golden)).verdict;
    const device = deviceWith(Math.floor(0.9 * peakBytes));
    const { verdict } = await judged("memory", golden, "--device", device);
    expect(verdict).toMatchObject({ peakBytes, fits: false });
    expect(verdict.ways?.map(({ kind }) => kind)).toEqual(["plan", "sharding", "device"]);
    expect(verdict.command).toMatch(/^remat plan .* --budget \d+B -o plan\.json$/);
    const plan = await remat(...words(verdict.command).slice(0, -2), "--iterations", "200");
    expect(plan.code).toBe(0);
    expect(plan.stdout).toMatch(/^Does not fit: .*\n[^]*^Planned: .* more time\. This fits\.$/m);
  });

  it("finds the batch with which a model fits, by taking smaller steps", async () => {
    const [one, two] = [await judged("memory", model, "--batch", "2"), await judged("memory", model, "--batch", "3")];
    expect(two.verdict.peakBytes).toBeGreaterThan(one.verdict.peakBytes);
    // So little that early release is not enough, nor any plan but at much cost.
    const device = deviceWith(150e6);
    const { verdict } = await judged("memory", model, "--batch", "8", "--device", device);
    expect(verdict.fits).toBe(false);
    for (const way of verdict.ways ?? []) if (way.kind !== "device") expect(way.peakBytes).toBeLessThanOrEqual(150e6);
  });

  it("is for this machine where that is asked for", async () => {
    const { verdict } = await judged("memory", golden, "--device", "here");
    expect(verdict).toMatchObject({ device: "here", deviceMemoryBytes: machineMemoryBytes() });
    expect(verdict.command).toContain("--device here");
  });

  it("is in colours where somebody sees them, and nowhere else", async () => {
    const plain = await remat("memory", golden);
    const coloured = await rematIn({ hasColors: true }, "memory", golden);
    expect(coloured.stdout).toMatch(/^\u001b\[32mFits\u001b\[39m: peak memory is /);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what is looked for
    expect(coloured.stdout.replaceAll(/\u001b\[\d+m/g, "")).toBe(plain.stdout);
    for (const args of [
      ["--color", "never"],
      ["--format", "md"],
      ["--format", "json"],
      ["--format", "csv"],
    ])
      expect((await rematIn({ hasColors: true }, "memory", golden, ...args)).stdout).not.toContain("\u001b");
    expect((await rematIn({ hasColors: true, env: { NO_COLOR: "1" } }, "memory", golden)).stdout).toBe(plain.stdout);
    expect((await rematIn({ env: { FORCE_COLOR: "1" } }, "memory", golden)).stdout).toBe(coloured.stdout);
    expect((await remat("memory", golden, "--color", "always")).stdout).toBe(coloured.stdout);
  });
});

describe.each([60, 80, 120])("%i columns", (width) => {
  const commands: Readonly<Record<string, readonly string[]>> = {
    estimate: ["estimate", model, "--batch", "8", "--top", "8", "--fit"],
    memory: ["memory", model, "--batch", "8", "--device", "t4", "--depth", "1"],
    "memory of a rank": ["memory", golden, "--fsdp", "world=8,wrap=layers.*"],
    plan: ["plan", golden, "--budget", "80%", "--iterations", "100", "--top", "5"],
  };
  it.each(Object.keys(commands))("of remat %s", async (name) => {
    const { code, stdout } = await remat(...commands[name], "--width", String(width));
    expect(code).toBe(0);
    const text = shown(stdout);
    for (const line of text.split("\n")) if (!/^ *remat /.test(line)) expect(line.length).toBeLessThanOrEqual(width);
    expect(
      text.replace(/gap [\d.]+%|no plan within the budget takes less than [^:]+:|proven optimal.*/g, "…"),
    ).toMatchSnapshot();
  });
});
