import type { Variable } from "@tensorflow/tfjs-core";
import { engineInternals } from "./engine-internals.js";

/** Returns all existing variables in the order of their creation. */
export const registeredVariables = (): Variable[] => Object.values(engineInternals().registeredVariables);
