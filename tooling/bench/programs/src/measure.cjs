// Loaded into a process before its program. It makes random numbers the same in every run, measures the training passes
// and ends the process after a given number of them.
const { createHash } = require("node:crypto");
const { writeFileSync } = require("node:fs");
const { Session } = require("node:inspector");
const Module = require("node:module");
const { monitorEventLoopDelay } = require("node:perf_hooks");

const { passes: lastPass, file } = JSON.parse(process.env.REMAT_BENCH_PROGRAM);
/** The first pass that is measured. The passes before it are start-up: slots, plans, code being compiled. */
const firstMeasured = Math.max(4, lastPass >> 1);
const samplingBytes = 1 << 18;

let state = 1;
// Mulberry32, by Tommy Ettinger.
Math.random = () => {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
};

const load = Module._load;
let isWatched = false;
Module._load = function (request, ...rest) {
  const exports = load.call(this, request, ...rest);
  if (!isWatched && request === "@tensorflow/tfjs-core" && typeof exports.engine === "function") {
    isWatched = true;
    watch(exports);
  }
  return exports;
};

function watch(tf) {
  // Datasets seed their shuffling with the time.
  tf.env().platform.now = () => 0;
  const engine = tf.engine();
  // `gradients` calls this method, and remat does not replace it.
  const { startTape } = engine;
  const session = new Session();
  const pauses = monitorEventLoopDelay({ resolution: 1 });
  const beganAt = [];
  let baseBytes = 0;
  engine.startTape = () => {
    if (engine.state.gradientDepth === 0) begin();
    startTape.call(engine);
  };

  function begin() {
    const pass = beganAt.push(performance.now()) - 1;
    if (pass === 0) baseBytes = process.memoryUsage.rss();
    if (pass === firstMeasured) {
      session.connect();
      session.post("HeapProfiler.startSampling", {
        samplingInterval: samplingBytes,
        includeObjectsCollectedByMajorGC: true,
        includeObjectsCollectedByMinorGC: true,
      });
      pauses.enable();
    }
    if (pass !== lastPass) return;
    end(pass);
  }

  function medianStepMs() {
    const steps = beganAt.slice(firstMeasured);
    const ms = steps.slice(1).map((began, i) => began - steps[i]);
    ms.sort((a, b) => a - b);
    return (ms[(ms.length - 1) >> 1] + ms[ms.length >> 1]) / 2;
  }

  function end(pass) {
    const measured = pass - firstMeasured;
    let garbageBytes = 0;
    session.post("HeapProfiler.stopSampling", (_, { profile }) => {
      garbageBytes = profile.samples.reduce((sum, { size }) => sum + size, 0);
    });
    const hash = createHash("sha256");
    const variables = Object.values(engine.state.registeredVariables).filter((variable) => !variable.isDisposed);
    for (const variable of variables) hash.update(new Uint8Array(variable.dataSync().slice().buffer));
    writeFileSync(
      file,
      JSON.stringify({
        weights: hash.digest("hex"),
        stepMs: medianStepMs(),
        firstStepMs: beganAt[1] - beganAt[0],
        residentBytes: process.resourceUsage().maxRSS * 1024 - baseBytes,
        pauseMs: pauses.max / 1e6,
        garbageBytes: garbageBytes / measured,
      }),
    );
    process.exit(0);
  }
}
