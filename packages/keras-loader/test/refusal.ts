import { RematError } from "@remat/trace";
import { loadKerasModel } from "../src/index.js";
import { topologyText } from "./topologies.js";

/** With what something is refused; `none` if it is not. */
export function refusalOf(run: () => unknown): [code: string, message: string] {
  try {
    run();
  } catch (error) {
    if (error instanceof RematError) return [error.code, error.message];
    throw error;
  }
  return ["none", ""];
}

/** With what a model is. */
export const refusal = (...file: Parameters<typeof loadKerasModel>): [code: string, message: string] =>
  refusalOf(() => loadKerasModel(...file));

/** A copy of MobileNet's file with one thing changed. */
export function mobilenet(change: (config: { layers: Record<string, any>[]; [field: string]: any }) => void): object {
  const file = JSON.parse(topologyText("mobilenet_v1"));
  change(file.modelTopology.config);
  return file;
}

/** The remedy for a corrupt file. */
export const again = "Export the model again with model.to_json() or tensorflowjs_converter.";
