import * as tf from "@tensorflow/tfjs";

/** Ends what a run has left open in the engine, so that the next does not suffer for it. */
export function healEngine(): void {
  const engine = tf.engine();
  while (engine.state.scopeStack.length > 1) engine.endScope();
  Object.assign(engine.state, { activeTape: null, gradientDepth: 0, kernelDepth: 0 });
  tf.disposeVariables();
}
