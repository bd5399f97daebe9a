import { describeConfiguration, type RankedRow, type StepsToFit } from "@remat/fit";
import { toCheckpointPolicyFile, writeCheckpointPolicyFile } from "@remat/pytorch";
import { fullyShardCode } from "@remat/sharding";
import { type JavaScriptCode, type JsonText, javascript, type PythonCode, python } from "@remat/trace/emit";

/**
 * Returns what the framework needs to train as described by a row. For TensorFlow.js: JavaScript with the budget. For
 * ranks: Python with calls of `fully_shard`. For PyTorch on one device: the policy for `remat.apply`.
 */
export async function appliedText(row: RankedRow, steps: StepsToFit): Promise<JavaScriptCode | PythonCode | JsonText> {
  const { sharding, policy = [], configuration, batch, microBatches, peakBytes } = row;
  const passes = microBatches === 1 ? "" : ` in ${microBatches} passes`;
  const about = `${steps.name}, batch ${batch}${passes}, ${describeConfiguration(configuration)}: ${peakBytes} bytes at the peak`;
  if (sharding === undefined && steps.framework === "tfjs")
    return javascript.lines([javascript.comment(about), javaScriptOf(row)]);
  const trace = await steps.stepAt(batch, configuration.optimizer);
  return sharding === undefined
    ? writeCheckpointPolicyFile(toCheckpointPolicyFile(trace, policy))
    : python.lines([python.comment(about), fullyShardCode(trace, sharding)]);
}

function javaScriptOf({ configuration: { way }, batch, memoryBytes }: RankedRow): JavaScriptCode {
  const fit = javascript`model.fit(x, y, { batchSize: ${batch} })`;
  switch (way) {
    case "stock":
      return javascript`await ${fit};\n`;
    case "early-release":
    case "update-in-backward":
      return javascript.lines([
        javascript`import { releaseEarly } from "remat";`,
        javascript``,
        way === "update-in-backward"
          ? javascript`const stop = releaseEarly({ updateInBackward: true });`
          : javascript`const stop = releaseEarly();`,
        javascript`await ${fit};`,
        javascript`stop();`,
        javascript``,
      ]);
    case "recompute":
    case "offload":
      return javascript.lines([
        javascript`import { withMemoryBudget } from "remat";`,
        javascript``,
        javascript`await withMemoryBudget(${javascript.string(`${memoryBytes}B`)}, () => ${fit});`,
        javascript``,
      ]);
  }
}
