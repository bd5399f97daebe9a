import { openDispatchMode } from "@remat/dispatch-hook";
import { type Grouping, ModTracker } from "@remat/mod-tracker";
import { checkArgument, RematError } from "@remat/trace";
import type { LayersModel } from "@tensorflow/tfjs-layers";
import type { Block } from "./block.js";
import { checkPolicy, enterBlock, exitBlock, unwatchBlocks, watchBlocks } from "./checkpoint.js";
import { type SavePolicy, saveNothing } from "./save-policies.js";

export interface CheckpointLayersOptions {
  /** What is saved inside; left out, nothing. */
  readonly policy?: SavePolicy;
  /** How flat models get blocks to name; left out, `auto`: `block_1` is all layers whose names begin with it. */
  readonly grouping?: Grouping;
}

/**
 * Makes blocks of the layers and groups of layers of `model` that match `pattern`: their inside is recomputed in the backward pass, as with
 * `checkpoint`. Neither the model nor its results change. Returns what ends it.
 *
 * `pattern` is compared with a layer's name, or, where it has dots, with the FQN below the model; `*` stands for anything but a dot. Of modules
 * inside each other only the outermost that match are blocks.
 *
 * @throws RematError `ARGUMENT`; `NO_LAYERS` where nothing matches, with the names that there are
 * @example
 * const end = checkpointLayers(model, "block_*", { policy: saveMatmuls });
 * await model.fit(x, y);
 * end();
 */
export function checkpointLayers(
  model: LayersModel,
  pattern: string,
  { policy = saveNothing, grouping = "auto" }: CheckpointLayersOptions = {},
): () => void {
  checkArgument(typeof pattern === "string", "checkpointLayers's pattern", pattern, "a text such as 'block*'");
  checkArgument(
    Array.isArray(model?.layers),
    "checkpointLayers's model",
    model,
    "a model of layers, such as tf.sequential()",
  );
  checkPolicy("checkpointLayers's option 'policy'", policy);
  const tracker = new ModTracker();
  const root = tracker.track(model, { grouping });
  const matches = matcherOf(pattern, root.fqn);
  const matching = tracker.modules.filter(({ fqn }) => matches(fqn));
  if (matching.length === 0) {
    const names = tracker.modules.map(({ fqn }) => fqn.slice(root.fqn.length + 1)).filter((name) => name !== "");
    tracker.close();
    throw new RematError(
      "NO_LAYERS",
      `no layer or group of '${root.fqn}' matches '${pattern}'; there are ${names.slice(0, 20).join(", ")}${names.length > 20 ? `, and ${names.length - 20} more` : ""}`,
    );
  }
  let running: { readonly fqn: string; readonly block: Block } | undefined;
  tracker.registerUserHooks({
    preForward: ({ fqn }, inputs) => {
      if (running !== undefined || !matches(fqn)) return;
      const block = enterBlock(fqn, policy, inputs);
      if (block !== undefined) running = { fqn, block };
    },
    postForward: ({ fqn }, _inputs, outputs) => {
      if (running?.fqn !== fqn) return;
      exitBlock(running.block, outputs.length > 0 ? outputs : undefined);
      running = undefined;
    },
  });
  watchBlocks(tracker);
  const close = openDispatchMode(tracker);
  return () => {
    close();
    tracker.close();
    unwatchBlocks(tracker);
  };
}

function matcherOf(pattern: string, root: string): (fqn: string) => boolean {
  const escaped = pattern.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replaceAll("*", "[^.]*");
  const expected = new RegExp(`^${escaped}$`);
  const isPath = pattern.includes(".");
  return (fqn) => {
    if (fqn === root) return false;
    return expected.test(isPath ? fqn.slice(root.length + 1) : fqn.slice(fqn.lastIndexOf(".") + 1));
  };
}
