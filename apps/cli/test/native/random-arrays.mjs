// Random arrays in random order: zero when they are made, unchanged while they are held. Prints bytes held at most at once, and resident.
import { readFileSync } from "node:fs";

let state = Number(process.argv[2]);
const random = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};
/** Looks at some bytes of every page, and the last. */
function isFilled(array, value) {
  for (let i = 0; i < array.length; i += 509) if (array[i] !== value) return false;
  return array.at(-1) === value;
}
const residentBytes = (what) =>
  Number(new RegExp(`${what}:\\s+(\\d+)`).exec(readFileSync("/proc/self/status", "utf8"))[1]) * 1024;

const loadedBytes = residentBytes("VmRSS");
const held = new Map();
let bytes = 0;
let mostBytes = 0;
for (let i = 1; i <= 600; i++) {
  if (held.size > 0 && (random() < 0.5 || bytes > 200e6)) {
    const [key, array] = [...held][Math.floor(random() * held.size)];
    if (!isFilled(array, key % 251)) throw new Error(`array ${key} has changed`);
    held.delete(key);
    bytes -= array.length;
  } else {
    const array = new Uint8Array(Math.floor(2 ** (16 + 9 * random())));
    if (!isFilled(array, 0)) throw new Error(`array ${i} is not zero`);
    held.set(i, array.fill(i % 251));
    bytes += array.length;
    mostBytes = Math.max(mostBytes, bytes);
  }
  gc();
}
console.log(JSON.stringify({ mostBytes, residentBytes: residentBytes("VmHWM") - loadedBytes }));
