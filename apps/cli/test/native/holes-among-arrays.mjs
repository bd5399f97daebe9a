// Holds 16 arrays of 16 MiB, drops every second one, and makes one as large as all that is free: prints how much was resident at most.
import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";

const arrayBytes = 16 * 2 ** 20;
const residentBytes = (what) =>
  Number(new RegExp(`${what}:\\s+(\\d+)`).exec(readFileSync("/proc/self/status", "utf8"))[1]) * 1024;

const loadedBytes = residentBytes("VmRSS");
const held = Array.from({ length: 16 }, () => new Uint8Array(arrayBytes).fill(1));
for (let i = 0; i < held.length; i += 2) held[i] = undefined;
// Buffers are swept by a thread beside; the next collection waits for it.
for (let i = 0; i < 3; i++) {
  gc();
  await setTimeout(20);
}
held.push(new Uint8Array(8 * arrayBytes).fill(1));
console.log(JSON.stringify({ residentBytes: residentBytes("VmHWM") - loadedBytes }));
