import { engineInternals } from "../engine/index.js";
import { runningModule } from "../module-namer.js";

/**
 * Returns whether a number that is read now is only reported. Losses and metrics are read between steps. A value read
 * inside a pass, or while a module runs, affects the computation.
 *
 * @internal
 */
export const isReporting = (): boolean => engineInternals().state.gradientDepth === 0 && runningModule() === undefined;
