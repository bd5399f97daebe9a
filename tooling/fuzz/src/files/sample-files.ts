import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { parseShardingPlan, writeShardingPlan } from "@remat/sharding";
import { type Trace, writeTrace } from "@remat/trace";
import { writeArrowTrace } from "@remat/trace/arrow";
import { traceFakeStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { runCli } from "../../../../apps/cli/src/cli.js";
import { changedFile, changedFolder, recordedRun, written } from "./check-file.js";

/** A valid file that the commands read, as lines of JSON. */
export interface SampleFile {
  /** Has the extension of its kind. */
  readonly name: string;
  readonly lines: readonly unknown[];
  readonly commands: readonly (readonly string[])[];
  /** The whole content of a file that is not JSON: its text or its bytes. */
  readonly text?: string | Uint8Array | undefined;
  /** A recorded run for a command that also reads the changed file. */
  readonly run?: Uint8Array;
}

/** Returns the bytes of an unchanged sample. */
export function bytesOf({ text, lines }: Pick<SampleFile, "text" | "lines">): Buffer {
  return Buffer.from(text ?? `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
}

const repository = new URL("../../../../", import.meta.url);
const read = (path: string): Buffer => readFileSync(new URL(path, repository));

/** A recorded step of a small model. */
const traceStep = (): Promise<Trace> =>
  traceFakeStep(() => {
    const model = tf.sequential({
      layers: [tf.layers.dense({ units: 4, activation: "relu", inputShape: [3] }), tf.layers.dense({ units: 2 })],
    });
    return { model, inputs: tf.ones([2, 3]) };
  });

/** Returns the lines of a recorded step. */
async function recordedStep(): Promise<readonly unknown[]> {
  const text = Buffer.concat([...writeTrace(await traceStep())]).toString();
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as unknown);
}

/** One file of each kind. */
export async function sampleFiles(): Promise<readonly SampleFile[]> {
  const keras = JSON.parse(read("packages/keras-loader/test/fixtures/keras-3-models.json").toString()) as {
    cases: Record<string, { topology: object }>;
  };
  const golden = (name: string) =>
    JSON.parse(gunzipSync(read(`tooling/testkit/goldens/${name}.json.gz`)).toString()) as unknown;
  const recorded = [["estimate"], ["memory"]];
  return [
    { name: "step.remat.jsonl", lines: await recordedStep(), commands: recorded },
    {
      name: "step.remat.arrow",
      lines: [],
      text: Buffer.concat([...writeArrowTrace(await traceStep(), { compress: false })]),
      commands: recorded,
    },
    { name: "sac.json", lines: [golden("sac_09d_only_views")], commands: [["estimate"]] },
    { name: "memory.json", lines: [golden("mem_min_adam")], commands: recorded },
    ...["nested", "recurrent", "operators", "sequential"].map((name) => ({
      name: "model.json",
      lines: [keras.cases[name].topology],
      commands: [["estimate"]],
    })),
    {
      name: "graph.json",
      lines: [
        {
          schema: "rematerialization-graph/1",
          nodes: ["f1", "f2", "f3", "b3", "b2", "b1"].map((name) => ({ name, bytes: 100, cost: 1 })),
          edges: [
            [0, 1],
            [1, 2],
            [2, 3],
            [3, 4],
            [1, 4],
            [4, 5],
            [0, 5],
          ],
        },
      ],
      commands: [["plan", "--budget", "80%", "--iterations", "50"]],
    },
  ];
}

/** Topologies written by Keras 2 and 3, each of a layer or an operation. */
export function kerasFiles(): readonly SampleFile[] {
  return ["2", "3"].flatMap((version) => {
    const bytes = gunzipSync(read(`packages/keras-loader/test/fixtures/keras-${version}-cases.json.gz`));
    const { cases } = JSON.parse(bytes.toString()) as { cases: Record<string, { topology: object }> };
    return Object.values(cases).map(({ topology }) => ({
      name: "model.json",
      lines: [topology],
      commands: [["estimate"]],
    }));
  });
}

/** A snapshot of PyTorch's CUDA allocator. */
const cudaSnapshot: SampleFile = {
  name: "snapshot.json",
  lines: [
    {
      schema: "cuda-snapshot/1",
      settings: "max_split_size_mb:64",
      devices: [
        {
          device: 0,
          segments: [{ bytes: 3000, stream: 0, blocks: [[6400, 3000, 3000, 1, 1]] }],
          trace: [
            ["segment_alloc", 0, 1200, 0, 0],
            ["alloc", 0, 1200, 0, 0],
            ["free_requested", 0, 1200, 0, -1],
            ["segment_alloc", 6400, 3000, 0, 1],
            ["alloc", 6400, 3000, 0, 1],
            ["oom", 9000, 5000, 0, 1],
            ["segment_free", 0, 1200, 0, -1],
          ],
        },
      ],
      stacks: [[0, 1], [1]],
      frames: [
        ["/home/a/model.py", 12, "forward"],
        ["/home/a/train.py", 20, "step"],
      ],
    },
  ],
  commands: [["memory"], ["leaks"]],
};

/** Files that commands write and read again: a sharding plan, cached search results, and their store. */
async function writtenFiles(run: Buffer): Promise<readonly SampleFile[]> {
  const folder = mkdtempSync(join(tmpdir(), "remat-fuzz-written-"));
  const runPath = join(folder, "run.remat.jsonl");
  const place = (name: string): string => join(folder, name);
  const remat = (...args: readonly string[]): Promise<number> =>
    runCli(args, { stdout: { write: () => {} }, stderr: { write: () => {} }, env: {} });
  try {
    writeFileSync(runPath, run);
    const search = ["--devices", "a100", "--iterations", "1"];
    const recording = fileURLToPath(new URL("packages/pytorch/test/fixtures/encoder-step.json.gz", repository));
    await remat("plan", recording, "--budget", "90%", "--iterations", "1", "--pytorch-policy", place("policy.json"));
    await remat("fit", runPath, ...search, "--cache", place("cache"), "--store", place("store"));
    const linesOf = (path: string): readonly unknown[] =>
      readFileSync(path, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as unknown);
    const fit = ["fit", recordedRun, ...search];
    return [
      {
        name: "sharding.json",
        lines: [JSON.parse(writeShardingPlan(parseShardingPlan("world=8,bf16,wrap=sequential_1.*,offload")))],
        commands: [["memory", recordedRun, "--fsdp", changedFile]],
        run,
      },
      {
        name: "policy.json",
        lines: [JSON.parse(readFileSync(place("policy.json"), "utf8"))],
        commands: [
          ["compare", recordedRun, "--checkpoint", changedFile],
          ["memory", recordedRun, "--fsdp", changedFile],
        ],
        run,
      },
      ...readdirSync(place("cache"))
        .slice(0, 3)
        .map((name) => ({
          name: join("cache", name),
          lines: linesOf(join(place("cache"), name)),
          commands: [[...fit, "--cache", changedFolder]],
          run,
        })),
      ...readdirSync(place("store"))
        .slice(0, 1)
        .map((name) => ({
          // Renamed, since its own name is a checksum.
          name: join("store", "rows.jsonl"),
          lines: linesOf(join(place("store"), name)),
          commands: [["fit", "--store", changedFolder, "--sqlite", written]],
        })),
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Files that options name, or without a model: settings, baselines, plans, specs and logs. */
export async function settingsFiles(): Promise<readonly SampleFile[]> {
  const run = bytesOf({ lines: await recordedStep() });
  const estimate = [["--config", changedFile, "estimate", recordedRun]];
  return [
    {
      name: "device.json",
      lines: [
        {
          name: "mine",
          tflops: { float32: 12.5, bfloat16: 100 },
          memoryGBps: 448,
          memoryBytes: 8e9,
          linkGBps: 16,
          network: { perNode: 8, nodeGBps: 300, betweenGBps: 25, latencyUs: 10 },
          allocationUnitBytes: 512,
          pricePerHour: 1.5,
          source: "the vendor",
        },
      ],
      commands: [["estimate", recordedRun, "--device", changedFile]],
      run,
    },
    {
      name: "baseline.json",
      lines: [
        {
          schema: "memory-baseline/1",
          models: {
            "run.remat.jsonl": {
              step: '{"framework":"tfjs"}',
              peakBytes: 1000,
              bytesByCategory: { parameter: 500 },
              bytesByModule: { dense: 500 },
            },
          },
        },
      ],
      commands: [["check", recordedRun, "--baseline", changedFile]],
      run,
    },
    {
      name: "sharding.json",
      lines: [{ schema: "sharding-plan/1", worldSize: 8, wrap: ["dense*"], cpuOffload: false, microBatches: 1 }],
      commands: [["memory", recordedRun, "--fsdp", changedFile]],
      run,
    },
    { name: "remat.json", lines: [{ device: "h100", estimate: { unit: "512" } }], commands: estimate, run },
    {
      name: "plan.json",
      lines: [JSON.parse(read("tooling/fuzz/test/fixtures/plan.json").toString())],
      commands: [["report", changedFile, "-o", written, "--time", "0"]],
    },
    cudaSnapshot,
    ...(await writtenFiles(run)),
    {
      name: "out-of-memory.log",
      lines: [],
      text: [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB of which 1.20 GiB is free. Including non-PyTorch memory, this process has 22.40 GiB memory in use. Of the allocated memory 20.10 GiB is allocated by PyTorch, and 1.80 GiB is reserved by PyTorch but unallocated.",
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.50GiB (rounded to 1610612736)requested by op Conv2D",
        "Limit:                      8000000000",
        "InUse:                      7900000000",
        "",
      ].join("\n"),
      commands: [["explain"]],
    },
  ];
}
