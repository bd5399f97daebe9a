export { type CallModes, callModes } from "./call-modes.js";
export type { CallPart } from "./call-parts.js";
export type { CheckpointedUnit, CheckpointPolicy } from "./checkpoint-policy.js";
export { type CheckpointableUnits, checkpointableUnits, standsInside } from "./checkpointable-units.js";
export { CheckpointedSteps } from "./checkpointed-trace.js";
export { requirePlainStep } from "./require-plain-step.js";
export { CheckpointSimulator, type SimulatedCheckpoints } from "./simulate-checkpoints.js";
export { Act, type StepScript, stepScript, tellsSaves } from "./step-script.js";
