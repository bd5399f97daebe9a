import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nativeApp, sampledCases } from "@remat/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { twoLayers } from "./fixtures/two-layers.js";
import { remat } from "./run.js";

const nativeFolder = nativeApp();

let model: string;
let folder: string;
const cacheBefore = process.env["REMAT_CACHE_DIR"];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "remat-fit-run-"));
  process.env["REMAT_CACHE_DIR"] = folder;
  model = join(folder, "model.json");
  writeFileSync(model, JSON.stringify(twoLayers("relu")));
  if (nativeFolder === undefined) return;
  // As if `remat setup native` had put it there.
  mkdirSync(join(folder, "native"));
  for (const name of ["tfjs-node", "tfjs-node-gpu"]) symlinkSync(nativeFolder, join(folder, `native/${name}-4.22.0`));
});
afterAll(() => {
  if (cacheBefore === undefined) delete process.env["REMAT_CACHE_DIR"];
  else process.env["REMAT_CACHE_DIR"] = cacheBefore;
  rmSync(folder, { recursive: true, force: true });
});

interface Row {
  readonly configuration: { readonly way: string };
  readonly batch: number;
  readonly peakBytes: number;
  /** Memory available to tensors. */
  readonly memoryBytes: number;
  readonly next: { readonly batch: number };
}

/** Resident memory of a process without tensors. The rest of the limit is for tensors. */
const reserve = 1_500_000_000;
const backends = [
  ["wasm", "stock,early-release,update-in-backward,recompute"] as const,
  ...(nativeFolder === undefined ? [] : [["tensorflow", "stock,recompute"] as const]),
];

describe.each(sampledCases(backends, 2, backends.length - 1))(
  "the largest batch of each way on %s",
  (backend, ways) => {
    it("is trained within a limit on resident memory, holding what was found to the byte; the next one is refused", async () => {
      const step = [model, "--optimizer", "adam", "--backend", backend, "--format", "json"];
      const peak = await remat("memory", ...step, "--batch", "40");
      const { peakBytes: room } = JSON.parse(peak.stdout) as { peakBytes: number };
      const limit = ["--memory", `${reserve + room}B`, "--reserve", `${reserve}B`];
      const found = await remat("fit", ...step, ...limit, "--ways", ways, "--objective", "batch", "--devices", "here");
      expect(found).toMatchObject({ code: 0, stderr: "" });
      const { rows } = JSON.parse(found.stdout) as { rows: readonly Row[] };
      expect(rows.map(({ configuration }) => configuration.way).sort()).toEqual(ways.split(",").sort());
      const stock = rows.find(({ configuration }) => configuration.way === "stock")!;
      // If TensorFlow's kernels use Eigen, they also take memory.
      expect(stock.batch).toBe(stock.memoryBytes === room ? 40 : 39);
      for (const { configuration, batch, peakBytes, memoryBytes, next } of rows) {
        const run = (samples: number) =>
          remat(
            "run",
            ...step,
            ...limit,
            ...howTo[configuration.way](memoryBytes),
            "--batch",
            `${samples}`,
            "--steps",
            "2",
          );
        const { code, stdout, stderr } = await run(batch);
        expect({ way: configuration.way, code, stderr }).toEqual({ way: configuration.way, code: 0, stderr: "" });
        const { measured } = JSON.parse(stdout) as { measured: { peakBytes: number } };
        expect(next.batch).toBe(batch + 1);
        if (configuration.way === "recompute") {
          // A search that takes longer may find another plan, and one for the next batch.
          expect(measured.peakBytes).toBeLessThanOrEqual(memoryBytes);
          continue;
        }
        expect({ way: configuration.way, bytes: measured.peakBytes }).toEqual({
          way: configuration.way,
          bytes: peakBytes,
        });
        expect(await run(next.batch)).toMatchObject({
          code: 1,
          stdout: "",
          stderr: expect.stringContaining("Nothing was run"),
        });
      }
    });
  },
);

const howTo: Readonly<Record<string, (room: number) => readonly string[]>> = {
  stock: () => [],
  "early-release": () => ["--early-release"],
  "update-in-backward": () => ["--early-release", "--update-in-backward"],
  recompute: (room) => ["--budget", `${room}B`, "--time", "1s"],
};

it("the largest batch that fits here is for the backend that trains here, as in the row's own command", async () => {
  const asked = [model, "--optimizer", "adam", "--memory", "4GB", "--reserve", `${reserve}B`, "--devices", "here"];
  const { code, stdout } = await remat("fit", ...asked, "--ways", "stock", "--batch", "4,8", "--format", "json");
  expect(code).toBe(0);
  const { best, command, notes } = JSON.parse(stdout) as { best: Row; command: string; notes: string[] };
  const backend = nativeFolder === undefined ? "wasm" : "tensorflow";
  expect(notes).toContainEqual(
    expect.stringContaining(`steps are estimated for the ${backend} backend, which trains here with @tensorflow/`),
  );
  const args = command.split(" ").slice(1);
  expect(args).toEqual(expect.arrayContaining(["--backend", backend, "--memory", "4GB"]));
  const ran = await remat(...args, "--steps", "2", "--format", "json");
  expect((JSON.parse(ran.stdout) as { measured: object }).measured).toMatchObject({ peakBytes: best.peakBytes });
});

it("a limit that a process is over before it has a model is refused before a step runs, with the least that could do", async () => {
  const step = [model, "--optimizer", "adam", "--backend", "wasm", "--batch", "4"];
  const { code, stdout, stderr } = await remat("run", ...step, "--memory", "2MB", "--steps", "1");
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain("and --memory is 2000000B (1.907 MiB). Nothing was run.");
  const [, memory, reserve] = /at least --memory (\d+)B --reserve (\d+)B/.exec(stderr)!;
  const { peakBytes } = JSON.parse((await remat("memory", ...step, "--format", "json")).stdout) as {
    peakBytes: number;
  };
  expect(Number(memory) - Number(reserve)).toBe(peakBytes);
  expect(Number(reserve)).toBeGreaterThan(20_000_000);
});
