import { afterEach, expect, test, vi } from "vitest";
import { native } from "../../../src/backends/native/native.js";

afterEach(() => vi.unstubAllEnvs());

test("a process that began with the caching allocator is not told to begin with it", () => {
  vi.stubEnv("LD_PRELOAD", "/usr/lib/other.so");
  expect(native.keepsFreedMemory).toMatch(/unless the process starts with remat's allocator/);
  vi.stubEnv("LD_PRELOAD", "/cache/native/caching-allocator-0123/caching-allocator.so:/usr/lib/other.so");
  expect(native.keepsFreedMemory).toBeUndefined();
});
