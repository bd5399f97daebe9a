export { type MemoryPanel, type ShowMemoryOptions, showMemory } from "./show-memory.js";
