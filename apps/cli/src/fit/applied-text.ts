import { describeConfiguration, type RankedRow, type StepsToFit } from "@remat/fit";
import { fullyShardCode } from "@remat/mem-tracker/fsdp";
import { toCheckpointPolicyFile, writeCheckpointPolicyFile } from "@remat/pytorch";

/**
 * Returns what the framework needs to train as a row says: of TensorFlow.js JavaScript with the budget, of ranks Python with the calls of `fully_shard`, of PyTorch on one
 * device the policy that `remat.apply` takes.
 */
export async function appliedText(row: RankedRow, steps: StepsToFit): Promise<string> {
  const { sharding, policy = [], configuration, batch, microBatches, peakBytes } = row;
  const passes = microBatches === 1 ? "" : ` in ${microBatches} passes`;
  const about = `${steps.name}, batch ${batch}${passes}, ${describeConfiguration(configuration)}: ${peakBytes} bytes at the peak`;
  if (sharding === undefined && steps.framework === "tfjs") return `// ${about}\n${javaScriptOf(row)}`;
  const trace = await steps.stepAt(batch, configuration.optimizer);
  return sharding === undefined
    ? writeCheckpointPolicyFile(toCheckpointPolicyFile(trace, policy))
    : `# ${about}\n${fullyShardCode(trace, sharding)}`;
}

function javaScriptOf({ configuration: { way }, batch, memoryBytes }: RankedRow): string {
  const fit = `model.fit(x, y, { batchSize: ${batch} })`;
  switch (way) {
    case "stock":
      return `await ${fit};\n`;
    case "early-release":
    case "update-in-backward":
      return [
        'import { releaseEarly } from "@remat/checkpoint";',
        "",
        `const stop = releaseEarly(${way === "update-in-backward" ? "{ updateInBackward: true }" : ""});`,
        `await ${fit};`,
        "stop();",
        "",
      ].join("\n");
    case "recompute":
    case "offload":
      return [
        'import { withMemoryBudget } from "@remat/checkpoint";',
        "",
        `await withMemoryBudget("${memoryBytes}B", () => ${fit});`,
        "",
      ].join("\n");
  }
}
