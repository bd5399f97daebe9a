import type { Variable } from "@tensorflow/tfjs-core";
import { engineInternals } from "./engine-internals.js";

/** Returns all variables that there are, in the order in which they were made. */
export const registeredVariables = (): Variable[] => Object.values(engineInternals().registeredVariables);
