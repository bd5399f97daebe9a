/** Whether what is freed now would be held by stock to the end of the pass. Set by early release while it frees. @internal */
export const earlyFrees = { areRunning: false };

/**
 * Tells whether what is freed now early release frees, which stock would hold to the end of the pass: so that a mode can count what stock would take.
 */
export const isFreeingEarly = (): boolean => earlyFrees.areRunning;
