import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openDispatchMode } from "@remat/dispatch-hook";
import { fakeMode } from "@remat/dispatch-hook/fake";
import { ModTracker } from "@remat/mod-tracker";
import { TraceRecorder } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { runCli } from "../../../../apps/cli/src/cli.js";
import { stock } from "../../../../packages/checkpoint/test/users/ways.js";
import { compile } from "../programs/compile.js";
import { compileFor, executions } from "../programs/executions.js";

const model = fileURLToPath(new URL("../../../../examples/foo/model.js", import.meta.url));

/** A program with a few layers, trained in two steps. */
const program = `async ({ tf, t, block }) => {
const weight = (seed) => tf.tidy(() => tf.variable(tf.randomNormal([16, 16], 0, 0.3, "float32", seed)));
const w = [1, 2, 3, 4].map(weight);
const x = tf.randomNormal([32, 16], 0, 1, "float32", 5);
const optimizer = tf.train.adam(0.01);
const forward = block((x) => w.reduce((h, v) => tf.tanh(tf.matMul(h, v)), x));
try {
  for (let i = 0; i < 2; i++)
    await t.step(() => tf.tidy(() => t.note("loss", optimizer.minimize(() => tf.mean(tf.square(forward(x))), true))));
} finally {
  // A budget may have been too small.
  tf.dispose([w, x]);
  optimizer.dispose();
}
}`;

/** Runs a round: commands that estimate, plan and report, and every mode, opened and closed. */
export async function soakRounds(): Promise<() => Promise<void>> {
  return async () => {
    const folder = mkdtempSync(join(tmpdir(), "remat-fuzz-"));
    const trace = join(folder, "step.remat.jsonl");
    try {
      await remat("estimate", model, "--size", "tiny", "--trace", trace);
      await remat("memory", trace);
      await remat("plan", trace, "--budget", "80%", "--time", "200ms", "-o", join(folder, "plan.json"));
      await remat("report", trace, "--time", "0", "-o", join(folder, "report.html"));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    for (const execution of Object.values(executions)) await execution.run(compileFor(execution, program));
    const close = [new TraceRecorder(), new ModTracker()].map((mode) => openDispatchMode(mode));
    await stock(compile(program));
    for (const each of close.toReversed()) each();
    fakeMode(() => tf.dispose(tf.tidy(() => tf.grad((x) => tf.sum(tf.tanh(x)))(tf.ones([8, 8])))));
  };
}

async function remat(...args: string[]): Promise<void> {
  let told = "";
  const code = await runCli(args, {
    stdout: { write: () => {} },
    stderr: { write: (text) => (told += text) },
    env: {},
  });
  if (code !== 0) throw new Error(`remat ${args.join(" ")}: ${told}`);
}
