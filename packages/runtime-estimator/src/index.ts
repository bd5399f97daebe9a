export { kernelClasses } from "./calibrated/kernel-class.js";
export { describeMachine } from "./describe-machine.js";
export { allocationUnits } from "./device-specs/allocation-units.js";
export { defaultDevice, defaultDeviceHere, deviceLabel, deviceSpec, deviceSpecs } from "./device-specs/device-specs.js";
export { parseDeviceSpec } from "./device-specs/parse-device-spec.js";
export { type EstimateMode, estimateModes, parseEstimateMode } from "./estimate-mode.js";
export { type CostedRun, extrapolateCosts } from "./extrapolate-costs.js";
export { type LayerCost, type LayerCosts, layerCosts, type NamedLayerCost } from "./layer-costs.js";
export { type ModuleOrders, moduleOrders } from "./module-orders.js";
export { type ModuleRuntime, type ModuleRuntimes, moduleRuntimes } from "./module-runtimes.js";
export { modulewiseText } from "./modulewise-text.js";
export type { CostOptions, OpCall, OpCost, TensorType } from "./op-call.js";
export { bytesOf, flopsOf, opCost } from "./op-cost.js";
export { priceTrace } from "./price-trace.js";
export { type RooflineOptions, rooflineMs } from "./roofline.js";
export { RuntimeEstimator } from "./runtime-estimator.js";
export {
  countSteps,
  msOfTimes,
  type StepMsOptions,
  type StepOps,
  type StepTimes,
  stepMs,
  stepTimes,
} from "./step-runtime.js";
