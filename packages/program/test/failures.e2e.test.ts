import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { accountOfFailure, type FailureAccount, judgeAllocatorLog, readAllocatorLog } from "@remat/memory/failure";
import { nativeApp } from "@remat/testkit";
import { parseTrace, type Trace } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { type ProgramStart, runProgram, type ThreadReport } from "../src/index.js";
import { agentFromSources, programPath, programsFolder } from "./run-program-under.js";

const native = nativeApp();
const backends = fileURLToPath(new URL("../../backends/package.json", import.meta.url));
const order = { kind: "record", steps: 5, seconds: 60, memoryBytes: 2 ** 34 } as const;

interface Death {
  readonly exitCode: number;
  readonly report: ThreadReport;
  readonly trace: Trace | undefined;
  readonly account: FailureAccount | undefined;
}

/** Runs a program that has no memory left, and reads what it leaves while it is there. */
async function recordDeath(command: readonly string[], start: Partial<ProgramStart> = {}): Promise<Death> {
  const given = {
    command,
    order,
    cwd: programsFolder,
    stdio: ["ignore", "pipe", "pipe"] as ["ignore", "pipe", "pipe"],
  };
  return runProgram(
    { ...given, agentFolder: await agentFromSources(), ...start },
    ({ exitCode, reports: [report] }) => {
      const { file } = report.failure ?? {};
      const trace = file === undefined ? undefined : parseTrace(readFileSync(file));
      return { exitCode, report, trace, account: trace && accountOfFailure(trace) };
    },
  );
}

/** As `line:column` of the program, or with the line after which it says so. */
function placeOf(program: string, what: RegExp): string {
  const lines = readFileSync(programPath(program), "utf8").split("\n");
  const at = lines.findIndex((line) => what.test(line));
  return `${program}:${at + 1}`;
}

const ops = (trace: Trace): string[] =>
  Array.from({ length: trace.ops.count }, (_, op) => `${trace.opName(op)} ${trace.opLine(op)?.replace(/:\d+$/, "")}`);

/** Counts one more process killed at each call. */
function countingKills(): () => number {
  let killed = 0;
  return () => killed++;
}

describe("a program that has no memory left", () => {
  it("for a kernel's array leaves the step to the last op, and what was asked for by which line", async () => {
    const program = "dying/arrays.cjs";
    const { exitCode, report, trace, account } = await recordDeath(["node", program]);
    expect(exitCode).toBe(1);
    expect(report.recorded).toMatchObject([{ steps: 2 }]);
    expect(report.failure).toMatchObject({
      cause: "array",
      // For Node 20 and 22, and for Node 24, whose arrays may be as long.
      message: expect.stringMatching(
        /^RangeError: (Invalid typed array length: 1099511627776|Array buffer allocation failed)$/,
      ),
      op: "Tile",
      askedBytes: 4 * 64 * 4 * 2 ** 32,
      stepsBefore: 2,
      heldBytes: 4 * (256 * 4 + 64 * 256 + 256 * 4 + 1),
      program: ["node", program],
    });
    expect(report.failure?.line).toMatch(placeOf(program, /fails/));
    const line = placeOf(program, /relu/);
    expect(ops(trace!)).toEqual([`BatchMatMul ${line}`, `Relu ${line}`]);
    expect(trace!.truncated).toBeUndefined();
    expect(trace!.header).toMatchObject({ deviceMemoryBytes: 2 ** 34, failure: { cause: "array", op: "Tile" } });
    const { heldBytes, lines } = account!;
    expect(heldBytes).toBe(report.failure!.heldBytes + 2 * 4 * 64 * 4);
    expect(lines.filter(({ op }) => op !== undefined)).toMatchObject([
      { op: "BatchMatMul", category: "activation", count: 1, bytes: 4 * 64 * 4 },
      { op: "Relu", category: "activation", count: 1, bytes: 4 * 64 * 4 },
    ]);
  });

  it("for JavaScript's heap leaves the same, though no JavaScript ran any more", async () => {
    const program = "dying/heap.cjs";
    const { exitCode, report, trace } = await recordDeath(["node", "--max-old-space-size=60", program]);
    expect(exitCode).toBe(134);
    const { failure } = report;
    expect(failure).toMatchObject({ cause: "heap", message: expect.stringMatching(/heap out of memory/) as string });
    expect(failure).not.toHaveProperty("op");
    expect(failure?.line).toMatch(placeOf(program, /the last op/));
    expect(ops(trace!)).toEqual([
      `BatchMatMul ${placeOf(program, /matMul/)}`,
      `Relu ${placeOf(program, /the last op/)}`,
    ]);
  });

  it("and is killed by the system tells how much it held between steps, and whether that grew", async () => {
    const { exitCode, report, trace } = await recordDeath(["node", "dying/killed.cjs"], {
      countKills: countingKills(),
    });
    expect(exitCode).toBe(137);
    expect(report.recorded).toMatchObject([{ steps: 5 }]);
    const perStep = 4 * 1024 * 16;
    expect(report.failure).toMatchObject({ cause: "system", stepsBefore: 9, bytesPerStep: perStep });
    expect(report.failure!.heldBytes).toBeGreaterThan(10 * perStep);
    // The tenth step is none of those that are recorded.
    expect(trace).toBeUndefined();
    const recorded = { countKills: countingKills(), order: { ...order, steps: 20 } };
    const { account, trace: step } = await recordDeath(["node", "dying/killed.cjs"], recorded);
    expect(ops(step!)).toEqual([expect.stringMatching(/^BatchMatMul/)]);
    expect(account).toMatchObject({ isLeak: true, remedy: { kind: "leaks" } });
  });

  it("is not taken for one where the system has killed none for that", async () => {
    const { exitCode, report } = await recordDeath(["node", "dying/killed.cjs"], { countKills: () => 3 });
    expect([exitCode, report.failure]).toEqual([137, undefined]);
    const unknown = await recordDeath(["node", "dying/killed.cjs"], { countKills: () => undefined });
    expect(unknown.report.failure?.message).toBe("SIGKILL, probably because memory ran out");
  });

  it("for a batch, and goes on with a smaller one, has not failed", async () => {
    const { exitCode, report } = await recordDeath(["node", "dying/recovers.cjs"]);
    expect([exitCode, report.failure]).toEqual([0, undefined]);
    expect(report.recorded).toMatchObject([{ steps: 3 }]);
  });

  it("in WebAssembly leaves the same", async () => {
    const program = "dying/wasm.cjs";
    const command = ["sh", "-c", `ulimit -d 1000000 && exec node ${program}`];
    const { report, trace } = await recordDeath(command, { env: { TFJS_FROM: backends } });
    expect(report.failure).toMatchObject({
      cause: "wasm",
      message: "RuntimeError: memory access out of bounds",
      op: "Tile",
      askedBytes: 4 * 64 * 4 * 2 ** 21,
    });
    expect(report.failure?.line).toMatch(placeOf(program, /fails/));
    expect(ops(trace!)).toEqual([`BatchMatMul ${placeOf(program, /matMul/)}`]);
  });

  it.runIf(native !== undefined)("for a kernel of tensorflow's leaves the same", async () => {
    const program = "dying/kernel.cjs";
    let log = "";
    // The level at which the allocator writes what it holds.
    const env = { TFJS_FROM: `${native}/package.json`, TF_CPP_MIN_LOG_LEVEL: "0" };
    const start = { env, onOutput: (text: string) => (log += text) };
    const { report, trace } = await recordDeath(["node", program], start);
    expect(report.failure).toMatchObject({
      cause: "kernel",
      message: expect.stringMatching(/OOM when allocating tensor with shape\[8388608,524288\]/) as string,
      op: "Tile",
      // With the two repetitions, which are a tensor there.
      askedBytes: 4 * 64 * 4 * 2 ** 34 + 8,
    });
    expect(report.failure?.line).toMatch(placeOf(program, /fails/));
    expect(ops(trace!)).toEqual([expect.stringMatching(/MatMul/), expect.stringMatching(/^Relu/)]);
    // Its allocator has written what it was in.
    const asked = readAllocatorLog(log);
    expect(asked).toMatchObject({ kind: "bfc", askedBytes: 4 * 64 * 4 * 2 ** 34, op: "Tile", truncated: false });
    expect(judgeAllocatorLog(asked)).toBe("full");
  });
});
