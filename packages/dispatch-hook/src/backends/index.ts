export {
  type Backend,
  type BackendDevice,
  type BackendKernels,
  type BackendPackage,
  type DevicePrograms,
  type DeviceWatch,
  type FreedMemory,
  isKnown,
  type KernelTable,
  type NativePackage,
  type OpShapes,
  type Residency,
  type Unknown,
  type WithoutDevice,
} from "./backend.js";
export { bestFirst } from "./best-first.js";
export { type DataEntry } from "./data-entry.js";
export { defaultBackend, fakeableBackends, fullestBackend, isFakeableHere } from "./default-backend.js";
export { addBackend, type BackendName, backends, findBackend } from "./find-backend.js";
export { javascriptResidency } from "./javascript-residency.js";
export { hasKnownKernels, kernelsOfBackend } from "./kernel-tables.js";
export { availableMemoryBytes, machineMemoryBytes } from "./machine-memory.js";
export { mostLibraryBytes } from "./most-library-bytes.js";
export { nameBackends } from "./name-backends.js";
export { usesOneDnn } from "./native/one-dnn.js";
export { declarePure, isRepeatable } from "./repeatable-kernels.js";
export type { SharedBuffer, SharingRule, SharingTable, TensorShape } from "./sharing-rules.js";
export { provideGradientKernels } from "./wasm/gradients/provide-gradient-kernels.js";
