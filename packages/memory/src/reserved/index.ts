export { type AllocatorSettings, parseAllocatorSettings } from "./allocator-settings.js";
export type { Block, BlockPool } from "./block.js";
export { CachingAllocator } from "./caching-allocator.js";
export { type ReservedMemory, reservedMemory } from "./reserved-memory.js";
