import { RematError } from "@remat/trace";
import * as tf from "@tensorflow/tfjs-core";

/** Makes a real backend current and returns a sentence that says which. */
export async function useBackend(name: string): Promise<string> {
  const { selectBackend } = await import("@remat/dispatch-hook");
  const selection = await selectBackend();
  void name;
  void tf;
  void RematError;
  return String(selection);
}
