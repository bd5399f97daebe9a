import * as tf from "@tensorflow/tfjs";

/** Ends everything that a run has left open in the engine, so that the next run is not affected. */
export function healEngine(): void {
  const engine = tf.engine();
  while (engine.state.scopeStack.length > 1) engine.endScope();
  Object.assign(engine.state, { activeTape: null, gradientDepth: 0, kernelDepth: 0 });
  tf.disposeVariables();
}
