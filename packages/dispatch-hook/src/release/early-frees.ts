/**
 * Set by early release while it frees data that unmodified TensorFlow.js would keep to the end of the pass. @internal
 */
export const earlyFrees = { areRunning: false };

/**
 * Returns whether unmodified TensorFlow.js would keep the data that is being freed until the end of the pass. Modes use
 * it to count the memory of unmodified TensorFlow.js.
 */
export const isFreeingEarly = (): boolean => earlyFrees.areRunning;
