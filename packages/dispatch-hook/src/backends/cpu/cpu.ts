import type { Backend } from "../backend.js";
import { requestedBytes } from "../data-entry.js";
import { javascriptResidency } from "../javascript-residency.js";
import { cpuSharing } from "./sharing.js";

/** The backend in plain JavaScript. */
export const cpu: Backend = {
  name: "cpu",
  priority: 1,
  packages: [{ name: "@tensorflow/tfjs-backend-cpu" }],
  kernels: "cpu",
  sharing: cpuSharing,
  writesTo: new Map([["TensorScatterUpdate", "tensor"]]),
  residency: javascriptResidency,
  mostAddedInOrder: () => Number.POSITIVE_INFINITY,
  bytesOf: (entry) => requestedBytes(entry),
  deviceOf: () => ({ device: "cpu", allocationUnitBytes: 1, isAsynchronous: false }),
};
