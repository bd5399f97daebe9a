export { DataDependentError, type ModuleNamer, nameModulesBy } from "./data-dependent-error.js";
export type { FakeBackendName } from "./fake-backend.js";
export { currentFakeBackend, type FakeModeOptions, fakeMode, fakeTensor } from "./fake-mode.js";
export { outputBytes } from "./output-bytes.js";
