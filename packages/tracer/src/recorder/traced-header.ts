import { currentBackend, currentDevice } from "@remat/dispatch-hook";
import { engineInternals } from "@remat/dispatch-hook/engine";
import type { TraceHeader } from "@remat/trace";
import { version_core } from "@tensorflow/tfjs-core";

/** Returns the header fields that the engine provides. @internal */
export function tracedHeader(): TraceHeader {
  const { backendInstance } = engineInternals();
  const { device, allocationUnitBytes } = currentDevice();
  return {
    framework: "tfjs",
    frameworkVersion: version_core,
    libraries: { "@tensorflow/tfjs-core": version_core },
    backend: currentBackend().name,
    device,
    mode: backendInstance?.standsFor === undefined ? "real" : "fake",
    allocationUnitBytes,
  };
}
