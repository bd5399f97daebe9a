/**
 * Set by early release while it frees data that unmodified TensorFlow.js would keep to the end of the pass. @internal
 */
export const earlyFrees = { areRunning: false };

/**
 * Returns whether the data being freed now would stay in memory to the end of the pass in unmodified TensorFlow.js.
 * Lets a mode count the memory of unmodified TensorFlow.js.
 */
export const isFreeingEarly = (): boolean => earlyFrees.areRunning;
