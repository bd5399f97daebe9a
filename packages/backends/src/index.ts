export { type FakeBackendName, kernelRules, scratchKernels } from "./kernel-rules.js";
export { savingCopies, sharedBuffers, sharingBackends, sharingKernels } from "./shared-buffers.js";
export type { SharedBuffer, TensorShape } from "./sharing-rules.js";
export { type DataEntry, entryBytes, isComplexPair } from "./storage-bytes.js";
export { provideGradientKernels } from "./wasm/gradients/provide-gradient-kernels.js";
