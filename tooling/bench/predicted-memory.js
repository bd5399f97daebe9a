// Compares predictions of fake mode with real steps. For each example: the predicted peak of live buffers, computed
// without allocating a byte; the measured peak of a real step; and the additional resident memory of an unmodified
// process (including garbage, allocator and code).
// Usage: node tooling/bench/predicted-memory.js [--backend cpu|wasm|tensorflow] [--size tiny|full] [--batch n]
// [--optimizer name] [example …]
// `tensorflow` needs tfjs-node with its addon, from `remat setup native` or in a folder named by NATIVE_APP.
import { fork } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { formatTable } from "@remat/trace/text";
import { report } from "./src/report.js";

const { values: options, positionals: wanted } = parseArgs({
  options: {
    backend: { type: "string" },
    size: { type: "string", default: "tiny" },
    batch: { type: "string" },
    optimizer: { type: "string" },
  },
  allowPositionals: true,
});

/** wasm has no kernel for the gradient of a convolution's filter. */
const convolutional = ["efficientnet-b0", "mobilenet-v1", "mobilenet-v2", "resnet50", "u-net"];

const examples = fileURLToPath(new URL("../../examples/", import.meta.url));
const known = readdirSync(examples, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && readdirSync(`${examples}${entry.name}`).includes("model.js"))
  .map((entry) => entry.name);
const unknown = wanted.find((name) => !known.includes(name));
if (unknown !== undefined) {
  console.error(
    `predicted-memory: there is no example '${unknown}'. Expected some of ${known.join(", ")}, or none for all.`,
  );
  process.exit(2);
}
const names = wanted.length > 0 ? wanted : known;
const backends = options.backend === undefined ? ["cpu", "wasm"] : [options.backend];

/** A separate process for each step, so that resident memory is its own. */
function measure(name, backend) {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(new URL("src/measure-memory.js", import.meta.url)), {
      stdio: ["ignore", 2, 2, "ipc"],
    });
    child.send({ model: `${examples}${name}/model.js`, backend, ...options });
    let figures;
    child.on("message", (message) => {
      figures = message;
    });
    child.on("close", (code) =>
      figures === undefined ? reject(new Error(`${name} on ${backend}: exit code ${code}`)) : resolve(figures),
    );
  });
}

const mib = (bytes) => bytes / 2 ** 20;
const rows = [];
for (const backend of backends)
  for (const name of names) {
    if (backend === "wasm" && convolutional.includes(name)) continue;
    const { predictedBytes, measuredBytes, residentBytes, predictedMs } = await measure(name, backend);
    const equal = predictedBytes === measuredBytes ? "equal" : `differs by ${measuredBytes - predictedBytes} B`;
    rows.push([
      name,
      backend,
      predictedBytes,
      measuredBytes,
      equal,
      mib(residentBytes).toFixed(0),
      predictedMs.toFixed(0),
    ]);
    report({
      what: `peak of ${name}, ${options.size}, on ${backend}, predicted`,
      value: mib(predictedBytes),
      unit: "MiB",
      note: `measured: ${equal}; resident ${mib(residentBytes).toFixed(0)} MiB; predicted in ${predictedMs.toFixed(0)} ms`,
    });
    if (predictedBytes !== measuredBytes) process.exitCode = 1;
  }
const headers = ["Example", "Backend", "Predicted B", "Measured B", "", "Resident MiB", "Prediction ms"];
if (process.send === undefined) console.log(`\n${formatTable(rows, { headers, format: "markdown" })}`);
