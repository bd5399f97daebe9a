import {
  type FitPrecision,
  type FitWayName,
  fitObjectives,
  fitPrecisions,
  fitWayNames,
  usualIterations,
} from "@remat/fit";
import { defaultDevice } from "@remat/runtime-estimator";
import type { DeviceSpec } from "@remat/trace";
import { type OptionAccess, option } from "../command.js";
import { here, readDevice } from "../pricing-options.js";
import { parseShare, parseSize } from "../typed-quantities.js";
import { parseChoice, parseCount, parseText, quote, UsageError } from "../usage-error.js";
import { workersOption } from "../workers-option.js";

/** `here` tests the backend installed in the working folder, which runs code. */
const deviceAccess = (value: string): OptionAccess =>
  value.split(",").some((name) => name.trim() === here) ? "code" : "name or file";

/** Options for the search space and its devices. */
export const fitGridOptions = [
  option("--devices <names>", {
    group: "device",
    access: deviceAccess,
    purpose: `Devices to try: names (a100,h100,l4), JSON files, or here for this machine (default: ${defaultDevice})`,
    parse: parseDevices,
  }),
  option("--device <name>", {
    group: "rare",
    access: deviceAccess,
    purpose: "The same as --devices, for one device",
    parse: parseDevices,
  }),
  option("--memory <size>", {
    group: "device",
    access: "data",
    purpose: "Memory of each device, such as 4GB (default: all that the device has)",
    parse: parseSize,
  }),
  option("--reserve <size>", {
    group: "rare",
    access: "data",
    purpose: "Part of a device's memory to keep free for the process and other programs: 500MB (default: nothing)",
    parse: parseSize,
  }),
  option("--batch <sizes>", {
    group: "usual",
    access: "data",
    purpose:
      "Batch sizes to try per rank, such as 1..512 or 8,16,32 (default: 1..512, or as recorded for recorded runs)",
    parse: parseBatches,
  }),
  option("--optimizer <names>", {
    group: "usual",
    access: "data",
    purpose: "Optimizers to try, such as sgd,adam or, for PyTorch runs, adam,adamw8bit (default: the model's, or sgd)",
    parse: parseList,
  }),
  option("--precision <names>", {
    group: "usual",
    access: "data",
    purpose: `Precisions to try for PyTorch runs: ${fitPrecisions.join(", ")} (default: as recorded)`,
    parse: (name, value) => parseChoices<FitPrecision>(name, value, fitPrecisions),
  }),
  option("--ways <names>", {
    group: "usual",
    access: "data",
    purpose: `Strategies to try: ${fitWayNames.join(", ")}. stock is the unmodified step (default: all but offload)`,
    choices: fitWayNames,
    parse: (name, value) => parseChoices<FitWayName>(name, value, fitWayNames),
  }),
  option("--offload", { group: "rare", access: "data", purpose: "Also try offloading to host memory" }),
  option("--ranks <counts>", {
    group: "usual",
    access: "data",
    purpose: "Numbers of devices to shard weights over: 1,8,64 (default: 1)",
    parse: (name, value) => parseList(name, value).map((each) => parseCount(name, each)),
  }),
  option("--wrap <modules>", {
    group: "rare",
    access: "data",
    purpose:
      "Modules that each form one FSDP unit: layers.*+head. Repeat the option to compare several choices (default: the blocks that repeat)",
    parse: (name, value) => [value].flat().map((each) => parseWrap(name, each)),
  }),
  option("--network <speeds>", {
    group: "rare",
    access: "data",
    purpose:
      "Network between ranks: per-node=8,node=450,between=50,latency=5 for devices per node, GB/s within and between nodes, and µs (default: set by the device)",
  }),
  option("--global-batch <n>", {
    group: "rare",
    access: "data",
    purpose: "Samples per step over all ranks, with gradient accumulation as needed",
    parse: parseCount,
  }),
  option("--max-overhead <share>", {
    group: "usual",
    access: "data",
    purpose: "Extra step time allowed to save memory (default: 30%)",
    parse: parseShare,
  }),
  option("--objective <aim>", {
    group: "usual",
    access: "data",
    choices: fitObjectives,
    purpose: `Goal to optimize: ${fitObjectives.join(", ")}`,
    default: "throughput",
  }),
  option("--price <prices>", {
    group: "rare",
    access: "data",
    purpose: "Price of each device per hour: a100=2.5,h100=4",
    parse: parsePrices,
  }),
  option("--iterations <n>", {
    group: "rare",
    access: "data",
    purpose: "Iterations of each plan search",
    default: usualIterations,
    parse: parseCount,
  }),
  workersOption,
  option("--engine <url>", {
    group: "rare",
    access: "network",
    purpose:
      "Search on other machines, through BullMQ on a Redis or Valkey server: redis://host:6379 (default: on this machine)",
  }),
  option("--serve <url>", {
    group: "rare",
    access: "network",
    purpose:
      "Run jobs of the searches whose --engine is this URL, with --workers threads. Name the same models and runs as these searches",
  }),
  option("--watch", {
    group: "rare",
    access: "data",
    purpose: "Draw the current table in the terminal during the search",
  }),
  option("--matrix", {
    group: "rare",
    access: "data",
    purpose: "After the search, explore the results as a matrix in the terminal. Keys filter rows and columns",
  }),
  option("--html <file>", {
    group: "output",
    access: "output",
    purpose: "Write the results as an HTML page: a matrix with filters for rows and columns",
    writes: "text",
  }),
  option("--cache <folder>", {
    group: "rare",
    access: "output",
    purpose: "Reuse results from this folder, and add new ones",
  }),
  option("--store <folder>", {
    group: "rare",
    access: "output",
    purpose: "Add the results to a folder, one file per search. Several searches can add to it at the same time",
    parse: parseStore,
  }),
  option("--sqlite <file>", {
    group: "rare",
    access: "output",
    purpose: "Write the folder of --store as a SQLite file. Without a model, do only that",
    writes: "text",
  }),
  option("--parquet <file>", {
    group: "rare",
    access: "output",
    purpose: "Write the results as a Parquet file, with the columns of --store",
    writes: "text",
  }),
  option("--label <text>", {
    group: "rare",
    access: "data",
    purpose: "With --store or --parquet: a label for this search, such as a commit",
  }),
  option("--apply <file>", {
    group: "output",
    access: "output",
    purpose: "Write the best result as JavaScript, Python, or a JSON policy",
    writes: "text",
  }),
];

function parseList(option: string, value: unknown): readonly string[] {
  const items = parseText(option, value)
    .split(",")
    .map((item) => item.trim());
  if (items.includes("")) throw new UsageError(`--${option} expects names separated by commas; found ${quote(value)}.`);
  return items;
}

function parseChoices<T extends string>(option: string, value: unknown, allowed: readonly T[]): readonly T[] {
  return parseList(option, value).map((item) => parseChoice(option, item, allowed));
}

function parseDevices(option: string, value: unknown): readonly DeviceSpec[] {
  const devices = parseList(option, [value].flat().join()).map(readDevice);
  const twice = devices.find(({ name }, i) => devices.findIndex((other) => other.name === name) < i);
  if (twice !== undefined)
    throw new UsageError(`--${option} names ${quote(twice.name)} twice. Give each device a different name.`);
  return devices;
}

/** Parses a range or a list of batches. */
function parseBatches(name: string, value: unknown): readonly number[] {
  const range = /^(\d+)\.\.(\d+)$/.exec(parseText(name, value));
  if (range === null) return parseList(name, value).map((each) => parseCount(name, each));
  const [from, to] = [parseCount(name, range[1]), parseCount(name, range[2], 1, mostSamples)];
  if (from > to) throw new UsageError(`--${name} ${range[0]} is empty. Write the smaller number first.`);
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

/** More than any realistic batch. */
const mostSamples = 65_536;

/** Parses the folder of a store. It used to be a SQLite file, and users may still type its name. */
function parseStore(name: string, value: unknown): string {
  const folder = parseText(name, value);
  if (/\.(sqlite3?|db)$/i.test(folder))
    throw new UsageError(
      `--store expects a folder, and ${quote(folder)} looks like a file. Use --store fits --sqlite ${folder}; ` +
        "to keep an existing file, move it into that folder first.",
    );
  return folder;
}

function parseWrap(name: string, value: unknown): readonly string[] {
  const text = parseText(name, value);
  return text === "root" ? [] : text.split("+");
}

/** Parses the hourly prices of devices, by name. */
function parsePrices(option: string, value: unknown): readonly (readonly [name: string, price: number])[] {
  return parseList(option, value).map((item) => {
    const [name, price, ...rest] = item.split("=");
    const number = Number(price);
    if (rest.length > 0 || price === undefined || price === "" || !(number > 0 && number < Number.POSITIVE_INFINITY))
      throw new UsageError(
        `--${option} expects a device and its price per hour, such as a100=2.5; found ${quote(item)}.`,
      );
    return [name, number];
  });
}
