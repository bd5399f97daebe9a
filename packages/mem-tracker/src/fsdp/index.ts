export { FSDPMemTracker, type FsdpModuleState } from "./fsdp-mem-tracker.js";
