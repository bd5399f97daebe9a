import { engineInternals } from "../engine/index.js";
import { runningModule } from "../module-namer.js";

/**
 * Tells whether a number that is read now can only be reported: losses and metrics are read between steps, and what is read in a forward and backward
 * pass, or while a module runs, decides what is computed.
 *
 * @internal
 */
export const isReporting = (): boolean => engineInternals().state.gradientDepth === 0 && runningModule() === undefined;
