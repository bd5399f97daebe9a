import type { Variable } from "@tensorflow/tfjs-core";
import { isVariable } from "./engine-internals.js";
import type { Session } from "./session.js";

/**
 * Watches variables that take over a tensor's data, on creation and by `assign`. Both call `engine.incRef`. @internal
 */
export function patchVariables(session: Session): void {
  const { engine, patches, modes } = session;
  let making = false;
  patches.patch(engine, "makeVariable", (original) => (initialValue, trainable, name, dtype) => {
    making = true;
    try {
      return original.call(engine, initialValue, trainable, name, dtype);
    } finally {
      making = false;
    }
  });
  patches.patch(engine, "incRef", (original) => (tensor, backend) => {
    original.call(engine, tensor, backend);
    if (!isVariable(tensor)) return;
    for (const open of modes.listeners("variableAssigned"))
      if (modes.isInside(open)) open.mode.variableAssigned(tensor as Variable, making);
  });
}
