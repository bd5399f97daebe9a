import { resolve } from "node:path";
import { terminal } from "@remat/trace/emit";
import { type Command, defineCommand, type Invocation, option } from "../command.js";
import type { ConsoleIo } from "../console-io.js";
import { setupNative, type WheelDownload } from "../native/index.js";
import { Progress } from "../progress.js";
import { quote, UsageError } from "../usage-error.js";

const setupOptions = [
  option("--gpu", {
    group: "usual",
    access: "data",
    purpose: "Build tfjs-node-gpu, which uses a CUDA device if there is one, and the CPU otherwise",
  }),
  option("--yes", {
    group: "usual",
    access: "network",
    purpose: "Download TensorFlow without asking, if none is installed",
  }),
  option("--tensorflow <path>", {
    group: "usual",
    access: "code",
    purpose: "TensorFlow to build against: a folder or a wheel",
  }),
  option("--dir <folder>", {
    group: "usual",
    access: "output",
    purpose: "Folder to build in (default: $REMAT_CACHE_DIR, or remat in your cache folder)",
  }),
  option("--force", { group: "usual", access: "output", purpose: "Build again, even if the existing build works" }),
];

export const setupCommand: Command = defineCommand({
  words: ["native"],
  options: setupOptions,
  examples: ["remat setup native", "remat setup native --gpu --yes", "remat setup native --dir ./tensorflow"],
  run: setup,
});

/** Builds tfjs-node's addon in the cache, where every command finds it (`remat setup native`). */
async function setup({
  targets: [what],
  options: { gpu, force, yes, tensorflow, dir: cache },
  io,
}: Invocation<typeof setupOptions>): Promise<void> {
  if (what !== "native") throw new UsageError(`cannot set up ${quote(what)}. Run remat setup native.`);
  const progress = new Progress(io);
  try {
    const made = await setupNative({
      gpu,
      force,
      env: io.env,
      cache,
      tensorflow,
      confirm: async (download) => yes || (await confirm(download, io)),
      report: (line) => {
        progress.clear();
        io.stderr.write(terminal`${line}\n`);
      },
      progress: (bytes, all) => progress.show(`${megabytes(bytes)} of ${all === undefined ? "?" : megabytes(all)}`),
    });
    progress.clear();
    const { check, allocator } = made;
    io.stdout.write(
      terminal.lines([
        `@tensorflow/${made.package} ${made.built ? "was built and works" : "was built before and works"}, ` +
          `on TensorFlow ${check.tensorflow}, ${check.usesGpu ? "on the GPU" : "on the CPU"}`,
        `it is in ${made.folder}, where remat finds it${cache === undefined ? "" : ` when REMAT_CACHE_DIR is ${resolve(cache)}`}`,
        ...(allocator === undefined
          ? []
          : ["remat trains with the caching allocator; remat doctor shows how to use it in your own program"]),
      ]),
    );
  } finally {
    progress.clear();
  }
}

async function confirm(
  { project, version, fetchedBytes, unpackedBytes, folder }: WheelDownload,
  io: ConsoleIo,
): Promise<boolean> {
  const what = `${project} ${version} (about ${megabytes(fetchedBytes)} to fetch, ${megabytes(unpackedBytes)} on disk)`;
  if (io.ask === undefined)
    throw new UsageError(
      `no TensorFlow was found to build against. Pass --yes to fetch ${what} into ${folder}, or name your own with --tensorflow.`,
    );
  return io.ask(`No TensorFlow was found to build against. Fetch ${what} into ${folder}?`);
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;
