// Loaded before tfjs, whose specs expect `describe`, `it` and `jasmine` to be global.
import jasmineRequire from "jasmine-core/lib/jasmine-core/jasmine.js";
import { aroundSpec } from "./around-spec.js";
import { runningSpec } from "./running-spec.js";

const jasmine = jasmineRequire.core(jasmineRequire);
Object.assign(globalThis, jasmineRequire.interface(jasmine, jasmine.getEnv({ global: globalThis })));
// In the order of the files. Their functions are kept, since a mode may run specs again.
jasmine.getEnv().configure({ random: false, autoCleanClosures: false });
const { it } = globalThis;
/**
 * The specs' timeouts are for unmodified tfjs. Evicting everything after every op of a long one takes many times as
 * long.
 */
const leastTimeoutMs = 120_000;
globalThis.it = (name, spec, timeoutMs = 0) => {
  // Jasmine decides by the number of arguments whether a spec uses a callback.
  const inside = (work) => runningSpec.ofWork.run(runningSpec.id, () => aroundSpec.run(work));
  const run = spec?.length > 0 ? (done) => inside(() => spec(done)) : () => inside(spec);
  return it(name, spec && run, Math.max(timeoutMs, leastTimeoutMs));
};
// Timeout of specs' setup and teardown.
jasmine.DEFAULT_TIMEOUT_INTERVAL = leastTimeoutMs;

// Specs draw the same random numbers every time, so that two runs do not differ by chance (mulberry32).
let state = 1;
Math.random = () => {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
};
jasmine.getEnv().addReporter({
  specStarted: () => {
    state = 1;
  },
});
