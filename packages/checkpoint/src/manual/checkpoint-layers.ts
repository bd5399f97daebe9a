import { openDispatchMode } from "@remat/dispatch-hook";
import { type Grouping, ModTracker } from "@remat/mod-tracker";
import { checkArgument, RematError } from "@remat/trace";
import type { LayersModel } from "@tensorflow/tfjs-layers";
import type { Block } from "./block.js";
import { checkPolicy, enterBlock, exitBlock, unwatchBlocks, watchBlocks } from "./checkpoint.js";
import { type SavePolicy, saveNothing } from "./save-policies.js";

/** Options of `checkpointLayers`. */
export interface CheckpointLayersOptions {
  /** Which ops inside the blocks are saved. Default: none. */
  readonly policy?: SavePolicy;
  /**
   * How layers of flat models are grouped into blocks. Default: `auto`, where `block_1` stands for all layers whose
   * names begin with it.
   */
  readonly grouping?: Grouping;
}

/**
 * Wraps layers, or groups of layers, of `model` that match `pattern` in activation checkpointing. The backward pass
 * recomputes their inside, as with `checkpoint`. The model and its results do not change. Returns a function that ends
 * it.
 *
 * `pattern` is compared with a layer's name or, if it contains dots, with the FQN below the model. `*` matches anything
 * except a dot. Among nested matches only the outermost become blocks.
 *
 * @throws RematError `ARGUMENT` for invalid arguments, `NO_LAYERS` if nothing matches (the message lists the available
 * names)
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
      `no layer or group of '${root.fqn}' matches '${pattern}'. ` +
        `Use one of ${names.slice(0, 20).join(", ")}${names.length > 20 ? `, and ${names.length - 20} more` : ""}.`,
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
