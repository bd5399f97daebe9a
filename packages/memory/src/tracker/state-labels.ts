/**
 * The moments around a module call at which memory is recorded. At `…Checkpointed` moments, the forward pass is
 * recomputed for checkpointing.
 */
export type ModuleState =
  | "preForward"
  | "postForward"
  | "peakForward"
  | "preBackward"
  | "preForwardCheckpointed"
  | "postForwardCheckpointed"
  | "postBackward"
  | "peakBackward";

/** Names of the states in `torch.distributed._tools.mem_tracker`. @internal */
export const moduleStateLabels: Readonly<Record<ModuleState, string>> = {
  preForward: "Pre-Forward",
  postForward: "Post-Forward",
  peakForward: "Peak-Forward",
  preBackward: "Pre-Backward",
  preForwardCheckpointed: "Pre-Forward-AC",
  postForwardCheckpointed: "Post-Forward-AC",
  postBackward: "Post-Backward",
  peakBackward: "Peak-Backward",
};
