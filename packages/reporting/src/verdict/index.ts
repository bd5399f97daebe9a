export { describeCategories } from "./describe-verdict.js";
export { type DeviceToFit, deviceToFit, whereRecorded } from "./device-to-fit.js";
export { type Facts, factLines } from "./fact-lines.js";
export { type FailureVerdictOptions } from "./judge-failure.js";
export { type GraphMemory, judgeGraph } from "./judge-graph.js";
export { judgeMemory, judgeStep, type NextStep, type StepMemory, type VerdictOptions } from "./judge-memory.js";
export type { FittingBatch, GivenStep, LeastHeld, Outcome, Verdict } from "./verdict.js";
export { type WayToFit } from "./way-to-fit.js";
export { factsOf, withFacts, withVerdict } from "./with-verdict.js";
