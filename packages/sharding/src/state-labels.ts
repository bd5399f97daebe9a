/**
 * The moments, around FSDP's hooks of a module, at which memory is measured. At `…Checkpointed` moments, the forward
 * pass is recomputed for checkpointing.
 */
export type FsdpModuleState =
  | "beforePreForward"
  | "afterPreForward"
  | "beforePostForward"
  | "afterPostForward"
  | "beforePreBackward"
  | "afterPreBackward"
  | "beforePostBackward"
  | "afterPostBackward"
  | "preForwardCheckpointed"
  | "postForwardCheckpointed"
  | "peakForward"
  | "peakBackward";

/**
 * Names of the states in `torch.distributed._tools.fsdp2_mem_tracker`.
 *
 * @internal
 */
export const fsdpStateLabels: Readonly<Record<FsdpModuleState, string>> = {
  beforePreForward: "Before Pre-Forward",
  afterPreForward: "After Pre-Forward",
  beforePostForward: "Before Post-Forward",
  afterPostForward: "After Post-Forward",
  beforePreBackward: "Before Pre-Backward",
  afterPreBackward: "After Pre-Backward",
  beforePostBackward: "Before Post-Backward",
  afterPostBackward: "After Post-Backward",
  preForwardCheckpointed: "Pre-Forward AC",
  postForwardCheckpointed: "Post-Forward AC",
  peakForward: "Peak Forward",
  peakBackward: "Peak Backward",
};
