export { nameModulesBy } from "../index.js";
export { DataDependentError } from "./data-dependent-error.js";
export { currentFakeBackend, type FakeModeOptions, fakeMode, fakeTensor } from "./fake-mode.js";
export { tensorsOnData } from "./guard-variables.js";
export { kernelPeakBytes, surelyFits } from "./kernel-peak-bytes.js";
