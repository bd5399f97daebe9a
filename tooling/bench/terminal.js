// Runs the terminal app on a training step of 100,000 ops, in a separate process whose terminal is simulated with
// streams. Measures the time until the trace is on the screen, the response time of keys in each view, and the memory
// used.
// Usage: node tooling/bench/terminal.js [ops]
import { spawnSync } from "node:child_process";
import { createReadStream, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { readTrace, writeTrace } from "@remat/trace";
import { largeTrainingStep } from "./src/large-training-step.js";
import { cpuMs, median, peakResidentMiB } from "./src/measure.js";
import { report } from "./src/report.js";

const opCount = Number(process.argv[2] ?? 100_000);
const size = { columns: 200, rows: 60 };
const keyBoundMs = 50;
const giveUpMs = 10_000;

if (process.argv[3] === undefined) {
  const folder = mkdtempSync(join(tmpdir(), "remat-bench-"));
  try {
    const path = join(folder, "run.remat.jsonl");
    const file = openSync(path, "w");
    for (const chunk of writeTrace(largeTrainingStep(opCount))) writeSync(file, chunk);
    const child = spawnSync(process.execPath, [fileURLToPath(import.meta.url), String(opCount), path], {
      encoding: "utf8",
      env: { ...process.env, XDG_STATE_HOME: folder, COLORTERM: "truecolor" },
    });
    if (child.status !== 0) throw new Error(`the app failed: ${child.stderr}`);
    for (const row of JSON.parse(child.stdout)) report(row);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
} else console.log(JSON.stringify(await measure(process.argv[3])));

/** Runs the app and presses keys. Returns the rows to report. */
async function measure(path) {
  let written = "";
  let answered = () => undefined;
  const stdout = {
    ...size,
    isTTY: true,
    write(text) {
      written += text;
      answered(text);
      return true;
    },
    on: () => stdout,
    off: () => stdout,
  };
  const stdin = Object.assign(new Readable({ read() {} }), {
    isTTY: true,
    setRawMode: () => stdin,
    ref() {},
    unref() {},
  });
  /** Resolves when a frame is written for which `isIt` is true. */
  const frame = (isIt) =>
    new Promise((resolve) => {
      answered = (text) => {
        if (isIt(text)) resolve(performance.now());
      };
    });
  const press = async (keys) => {
    const cpu = cpuMs();
    const began = performance.now();
    const shown = frame(() => true);
    stdin.push(keys);
    const at = await Promise.race([shown, new Promise((resolve) => setTimeout(resolve, giveUpMs))]);
    if (at === undefined) throw new Error(`expected ${JSON.stringify(keys)} to change what is on the screen`);
    return { ms: at - began, cpu: cpuMs() - cpu };
  };
  /** Resolves when the last usual question has been answered. */
  const answers = async () => {
    while (!written.includes("device=h200")) await frame(() => true);
    // The line that announces further answers is gone.
    await new Promise((resolve) => setTimeout(resolve, 200));
  };
  // A terminal keeps a program alive. Streams do not.
  const alive = setInterval(() => undefined, 1000);

  const { startTerminal } = await import("@remat/terminal");
  const first = frame((text) => text.includes("opening"));
  const running = startTerminal({
    targets: [path],
    open: async (target) => ({
      kind: "trace",
      title: "run",
      path: target,
      trace: await readTrace(createReadStream(target, { highWaterMark: 1 << 20 })),
    }),
    examples: [],
    device: "a100",
    view: "modules",
    env: process.env,
    stdin,
    stdout,
    folder: ".",
  });
  const startedMs = await first;
  const startedCpu = cpuMs();
  const openedMs = await frame((text) => text.includes("Transformer"));
  const opened = { ms: openedMs - startedMs, cpu: cpuMs() - startedCpu };
  const resident = () => process.memoryUsage().rss / 2 ** 20;
  const rows = [
    { what: "start-up, to the first screen", value: startedMs, cpu: startedCpu, unit: "ms" },
    { what: `${opCount} ops: from start-up to the screen`, value: opened.ms, cpu: opened.cpu, unit: "ms", bound: 1000 },
  ];
  const views = [
    ["held", "1", ["j", "\u001b[6~", "*", "\u001b[H", "\u001b[F", "k", "-", "\u001b[C", "\u001b[H"]],
    ["modules", "2", ["\u001b[<65;10;10M", "j", "\u001b[6~", "]", "s", "k", "\u001b[F", "\u001b[H"]],
    ["ops", "3", ["j", "\u001b[6~", "\u001b[F", "k", "\r", "\r", "n", "\u001b[<64;10;10M", "g"]],
    ["trade-off", "4", ["\u001b[D", "\u001b[D", "\u001b[C", "L", "H", "j", "\u001b[6~"]],
    ["memory", "5", ["\u001b[D", "\u001b[C", "H", "+", "+", "-", "p"]],
    ["compare", "6", ["j", "\u001b[6~", "s", "s", "k"]],
    // While answers arrive, then with all of them.
    ["what if, while it answers", "9", ["?", "?"]],
    ["what if", undefined, ["j", "k", "\u001b[F", "\u001b[H", "\u001b[<65;10;10M"]],
  ];
  // The first view is already on the screen and must be left first.
  await press("7");
  for (const [name, key, keys] of views) {
    if (key === undefined) await answers();
    else {
      const shown = await press(key);
      rows.push({ what: `${name}: shown first`, value: shown.ms, cpu: shown.cpu, unit: "ms" });
    }
    const times = [];
    for (let round = 0; round < 5; round++) for (const pressed of keys) times.push(await press(pressed));
    rows.push(
      {
        what: `${name}: a key, median`,
        value: median(times.map(({ ms }) => ms)),
        cpu: median(times.map(({ cpu }) => cpu)),
        unit: "ms",
        runs: times.length,
        bound: keyBoundMs,
      },
      {
        what: `${name}: a key, slowest`,
        value: Math.max(...times.map(({ ms }) => ms)),
        cpu: Math.max(...times.map(({ cpu }) => cpu)),
        unit: "ms",
        runs: times.length,
        bound: keyBoundMs,
      },
    );
  }
  await press("3");
  await press("a");
  await press("/");
  const typed = [];
  for (const character of "multiply") typed.push(await press(character));
  rows.push({
    what: "search over all ops: a character, slowest",
    value: Math.max(...typed.map(({ ms }) => ms)),
    cpu: Math.max(...typed.map(({ cpu }) => cpu)),
    unit: "ms",
    runs: typed.length,
    bound: keyBoundMs,
  });
  await press("\u001b[B");
  await press("\r");
  rows.push(
    { what: "memory resident, all views shown", value: resident(), unit: "MiB", bound: 500 },
    { what: "memory resident at most", value: peakResidentMiB(), unit: "MiB", bound: 500 },
  );
  stdin.push("q");
  await running;
  clearInterval(alive);
  if (!written.endsWith("\u001b[?1049l")) throw new Error("expected the screen to be restored");
  return rows;
}
