import { commonTraits } from "../../kernels/kernel-traits.js";
import type { BackendKernels } from "../backend.js";
import { cpuScratch } from "./scratch.js";

/** The kernels of the backend in plain JavaScript. */
export const cpuKernels: BackendKernels = {
  lacks: new Set(["LogicalXor"]),
  traits: {
    ...commonTraits,
    castShares: true,
    unitPoolingShares: true,
    floorDivMakesIntegers: true,
    resizeGradientSwapsAxes: true,
    transformForgetsShape: true,
  },
  outputs: {},
  scratch: cpuScratch,
};
