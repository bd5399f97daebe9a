import { resolve } from "node:path";
import { formatWholePercent } from "@remat/reporting";
import { calibrationDocument } from "../calibration/calibration-document.js";
import { calibrationText, keepCalibration } from "../calibration/calibration-file.js";
import { type Command, defineCommand, type Invocation, option } from "../command.js";
import { formatOption, shapeOf } from "../format-option.js";
import { checkFor, shownBeside, writeFor } from "../output.js";
import { here } from "../pricing-options.js";
import { Progress } from "../progress.js";
import { parseTimeMs } from "../typed-quantities.js";
import { parseChoice } from "../usage-error.js";

const backends = ["tensorflow", "wasm", "cpu"] as const;

const calibrateOptions = [
  formatOption,
  option("--backend <name>", {
    group: "usual",
    access: "data",
    choices: backends,
    purpose: "Backend to measure: tensorflow (or native), wasm or cpu (default: the fastest that works)",
    parse: (name, value) => (value === "native" ? "tensorflow" : parseChoice(name, value, backends)),
  }),
  option("--thorough", {
    group: "usual",
    access: "data",
    purpose: "Measure for ten minutes instead of less than one, for a machine that other programs use",
  }),
  option("--time <duration>", {
    group: "rare",
    access: "data",
    parse: parseTimeMs,
    purpose: "Time for measuring (default: 40s, or 10min with --thorough)",
  }),
  option("-o, --output <file>", {
    group: "output",
    access: "output",
    purpose: "Write the device to this file, to share it (default: remat's cache, where --device here finds it)",
    writes: "text",
  }),
];

export const calibrateCommand: Command = defineCommand({
  options: calibrateOptions,
  examples: ["remat calibrate", "remat calibrate --backend wasm --thorough", "remat calibrate -o mydevice.json"],
  run: calibrate,
});

/** Measures the speed of a backend's kernels on this machine, for `--device here` (`remat calibrate`). */
async function calibrate({
  options: { backend: asked, format, output, thorough, time },
  io,
}: Invocation<typeof calibrateOptions>): Promise<void> {
  if (output !== undefined) checkFor("--output", output);
  const shown = shownBeside(io, { "--output": output });
  const progress = new Progress(io);
  try {
    progress.show("starting the backend", true);
    const [{ useBackend }, { calibrate: measure }, { thisMachine }] = await Promise.all([
      import("../use-backend.js"),
      import("@remat/runtime-estimator/calibrate"),
      import("../verdict/this-machine.js"),
    ]);
    const { backend } = await useBackend(asked);
    const { name: _, ...facts } = thisMachine();
    const device = await measure({
      name: here,
      facts,
      budgetMs: time ?? (thorough ? 600_000 : 40_000),
      onProgress: ({ phase, share }) => progress.show(`${phase} ${backend}: ${formatWholePercent(share)}`),
    });
    progress.clear();
    const isHere = output === undefined;
    if (!isHere) await writeFor("--output", output, calibrationText(device), io);
    const path = isHere ? keepCalibration(device, backend) : resolve(output);
    shown.write(format.write(calibrationDocument({ device, path, isHere }), shapeOf(io)));
  } finally {
    progress.clear();
  }
}
