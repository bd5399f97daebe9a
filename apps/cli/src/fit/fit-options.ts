import { availableParallelism } from "node:os";
import {
  type FitPrecision,
  type FitRequest,
  type FitWayName,
  fitObjectives,
  fitPrecisions,
  fitWayNames,
  fitWays,
  usualIterations,
} from "@remat/fit";
import { defaultDevice } from "@remat/runtime-estimator";
import type { DeviceSpec } from "@remat/trace";
import { type CommandOption, type CommandOptions, type OptionAccess, optionName } from "../command.js";
import { stepOptions } from "../model-options.js";
import { parseShare, parseSize } from "../plan/plan-options.js";
import { here, readDevice } from "../pricing-options.js";
import { parseNetworkOption } from "../sharding-option.js";
import { parseChoice, parseCount, parseText, quote, UsageError } from "../usage-error.js";

/** What is looked through, or is up to a way, is not said of the step. */
const chosen: ReadonlySet<string> = new Set(["batch", "optimizer", "data", "checkpointing"]);

/** What may be said of the steps of a search. */
export const fitStepOptions: readonly CommandOption[] = stepOptions.filter((option) => !chosen.has(optionName(option)));

/** For this machine, the backend is tried that the working folder has. */
const deviceAccess = (value: string): OptionAccess =>
  value.split(",").some((name) => name.trim() === here) ? "code" : "name or file";

/** What is looked through, and for what. */
export const fitGridOptions: readonly CommandOption[] = [
  {
    flags: "--devices <names>",
    access: deviceAccess,
    purpose: `Devices: names (a100,h100,l4), files with your own, or here for this machine (default: ${defaultDevice})`,
  },
  { flags: "--device <name>", access: deviceAccess, purpose: "The same, for one" },
  { flags: "--memory <size>", access: "data", purpose: "What a device has, in place of its own: 4GB" },
  {
    flags: "--reserve <size>",
    access: "data",
    purpose: "Of that, what is kept for the process and others: 500MB (default: nothing)",
  },
  {
    flags: "--batch <sizes>",
    access: "data",
    purpose: "Batches of a rank: 1..512, or 8,16,32 (default: 1..512, or as recorded)",
  },
  {
    flags: "--optimizer <names>",
    access: "data",
    purpose: "Optimizers: sgd,adam; of runs of PyTorch adam,adamw8bit (default: its own, or sgd)",
  },
  {
    flags: "--precision <names>",
    access: "data",
    purpose: `Of runs of PyTorch: ${fitPrecisions.join(", ")} (default: as recorded)`,
  },
  {
    flags: "--ways <names>",
    access: "data",
    purpose: `Ways: ${fitWayNames.join(", ")} (default: all but offload)`,
    choices: fitWayNames,
  },
  { flags: "--offload", access: "data", purpose: "Also offload to host memory" },
  { flags: "--ranks <counts>", access: "data", purpose: "Devices that weights are sharded over: 1,8,64 (default: 1)" },
  {
    flags: "--wrap <modules>",
    access: "data",
    purpose:
      "Of ranks, modules gathered as one: layers.*+head; several times for several ways (default: the blocks that repeat)",
  },
  {
    flags: "--network <speeds>",
    access: "data",
    purpose: "How ranks are joined: per-node=8,node=450,between=50,latency=5 (default: the device's)",
  },
  {
    flags: "--global-batch <n>",
    access: "data",
    purpose: "Samples of a step over all ranks, in as many passes as that takes",
  },
  {
    flags: "--max-overhead <share>",
    access: "data",
    purpose: "How much longer a step may take for less memory (default: 30%)",
  },
  {
    flags: "--objective <aim>",
    access: "data",
    choices: fitObjectives,
    purpose: `What is best: ${fitObjectives.join(", ")}`,
    default: "throughput",
  },
  { flags: "--price <prices>", access: "data", purpose: "What a device costs in an hour: a100=2.5,h100=4" },
  {
    flags: "--iterations <n>",
    access: "data",
    purpose: "How many changes a search for a plan tries",
    default: usualIterations,
  },
  { flags: "--workers <n>", access: "data", purpose: "Threads that search (default: one a core, 8 at most)" },
  {
    flags: "--engine <url>",
    access: "network",
    purpose: "Have a fleet search, by BullMQ on a server of Redis or Valkey: redis://host:6379 (default: threads here)",
  },
  {
    flags: "--serve <url>",
    access: "network",
    purpose: "Answer for such a fleet, about the models and runs that are named, with --workers threads",
  },
  { flags: "--watch", access: "data", purpose: "Draw the table so far on the terminal, while the search goes on" },
  {
    flags: "--matrix",
    access: "data",
    purpose: "Then go through what was found as a matrix, on the terminal, and leave out by keys",
  },
  {
    flags: "--html <file>",
    access: "output",
    purpose: "Write what was found as a page with a matrix, of which rows and columns can be left out",
    writes: "text",
  },
  { flags: "--cache <folder>", access: "output", purpose: "Keep answers there, and begin with those that are there" },
  {
    flags: "--store <folder>",
    access: "output",
    purpose: "Add the results to a folder, one file per search; searches can add to it at the same time",
  },
  {
    flags: "--sqlite <file>",
    access: "output",
    purpose: "Write everything in the folder of --store as a SQLite file (no MODEL: only that)",
    writes: "text",
  },
  {
    flags: "--parquet <file>",
    access: "output",
    purpose: "Write what was found as a Parquet file, with the columns of --store",
    writes: "text",
  },
  {
    flags: "--label <text>",
    access: "data",
    purpose: "With --store or --parquet: what tells this search from others, such as a commit",
  },
  {
    flags: "--apply <file>",
    access: "output",
    purpose: "Write what the framework needs for the best: JavaScript, Python, or a policy as JSON",
    writes: "text",
  },
];

/** What `remat fit` was asked for, besides the steps. */
export interface FitOptions {
  readonly request: FitRequest;
  readonly prices: Readonly<Record<string, number>>;
  readonly workers: number;
  readonly cache: string | undefined;
  /** The server of a fleet. */
  readonly engine: string | undefined;
  readonly watches: boolean;
  readonly prunes: boolean;
  /** Where a page goes. */
  readonly page: string | undefined;
  readonly apply: string | undefined;
  readonly store: string | undefined;
  readonly sqlite: string | undefined;
  readonly parquet: string | undefined;
  readonly label: string | undefined;
}

/**
 * Parses the options of `remat fit`.
 *
 * @throws UsageError naming the option; RematError `DEVICE_FILE`
 */
export function parseFitOptions(options: CommandOptions): FitOptions {
  const given = <T>(name: string, parse: (value: unknown) => T): T | undefined =>
    options[name] === undefined ? undefined : parse(options[name]);
  if (options["devices"] !== undefined && options["device"] !== undefined)
    throw new UsageError("--device and --devices are the same. Name all in --devices.");
  const devices = given("devices", parseDevices) ??
    given("device", (value) => parseDevices(value, "device")) ?? [readDevice(defaultDevice)];
  const objective = parseChoice("objective", options["objective"] ?? "throughput", fitObjectives);
  const prices = {
    ...Object.fromEntries(
      devices.flatMap(({ name, pricePerHour }) => (pricePerHour === undefined ? [] : [[name, pricePerHour]])),
    ),
    ...given("price", (value) => parsePrices(value, devices)),
  };
  if (objective === "cost" && Object.keys(prices).length === 0)
    throw new UsageError(
      `--objective cost needs what devices cost: --price ${devices[0].name}=2.5, in an hour, or pricePerHour in a device file.`,
    );
  const iterations = parseCount("iterations", options["iterations"] ?? usualIterations);
  const request: FitRequest = {
    devices,
    objective,
    iterations,
    ...defined({
      memoryBytes: given("memory", (value) => parseSize("memory", value)),
      reserveBytes: given("reserve", (value) => parseSize("reserve", value)),
      batches: given("batch", parseBatches),
      optimizers: given("optimizer", (value) => parseList("optimizer", value)),
      precisions: given("precision", (value) => parseChoices<FitPrecision>("precision", value, fitPrecisions)),
      ways: parseWays(options),
      ranks: given("ranks", (value) => parseList("ranks", value).map((each) => parseCount("ranks", each))),
      wraps: given("wrap", (value) => [value].flat().map((each) => parseWrap(each))),
      network: given("network", (value) => parseNetworkOption(value, devices[0])),
      globalBatch: given("globalBatch", (value) => parseCount("global-batch", value)),
      maxOverhead: given("maxOverhead", (value) => parseShare("max-overhead", value)),
      seed: given("seed", (value) => parseCount("seed", value, 0)),
    }),
  };
  return {
    request,
    prices,
    workers: parseWorkers(options),
    engine: given("engine", (value) => parseText("engine", value)),
    watches: options["watch"] === true,
    prunes: options["matrix"] === true,
    page: given("html", (value) => parseText("html", value)),
    cache: given("cache", (value) => parseText("cache", value)),
    apply: given("apply", (value) => parseText("apply", value)),
    store: given("store", parseStore),
    sqlite: given("sqlite", (value) => parseText("sqlite", value)),
    parquet: given("parquet", (value) => parseText("parquet", value)),
    label: parseLabel(options),
  };
}

function defined<T extends object>(fields: T): { [Key in keyof T]?: NonNullable<T[Key]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]?: NonNullable<T[Key]>;
  };
}

function parseList(option: string, value: unknown): readonly string[] {
  const items = parseText(option, value)
    .split(",")
    .map((item) => item.trim());
  if (items.includes("")) throw new UsageError(`--${option} expects names parted by commas, found ${quote(value)}.`);
  return items;
}

function parseChoices<T extends string>(option: string, value: unknown, allowed: readonly T[]): readonly T[] {
  return parseList(option, value).map((item) => parseChoice(option, item, allowed));
}

function parseDevices(value: unknown, option = "devices"): readonly DeviceSpec[] {
  const devices = parseList(option, [value].flat().join()).map(readDevice);
  const twice = devices.find(({ name }, i) => devices.findIndex((other) => other.name === name) < i);
  if (twice !== undefined)
    throw new UsageError(`--${option} names ${quote(twice.name)} twice: give each device a name of its own, once.`);
  return devices;
}

/** A range, or some. */
function parseBatches(value: unknown): readonly number[] {
  const range = /^(\d+)\.\.(\d+)$/.exec(parseText("batch", value));
  if (range === null) return parseList("batch", value).map((each) => parseCount("batch", each));
  const [from, to] = [parseCount("batch", range[1]), parseCount("batch", range[2], 1, mostSamples)];
  if (from > to) throw new UsageError(`--batch ${range[0]} is empty: expected the smaller number first.`);
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

/** More than anybody puts into a batch. */
const mostSamples = 65_536;

function parseWays(options: CommandOptions): readonly FitWayName[] | undefined {
  const offloads = options["offload"] === true;
  if (options["ways"] === undefined) return offloads ? fitWays.map(({ name }) => name) : undefined;
  const ways = parseChoices("ways", options["ways"], fitWayNames);
  return offloads && !ways.includes("offload") ? [...ways, "offload"] : ways;
}

/** Parses how many threads are to search. */
export function parseWorkers({ workers }: CommandOptions): number {
  return workers === undefined ? Math.min(8, availableParallelism()) : parseCount("workers", workers);
}

/** Parses where a store is. It was a SQLite file once, and somebody may still type its name. */
export function parseStore(value: unknown): string {
  const folder = parseText("store", value);
  if (/\.(sqlite3?|db)$/i.test(folder))
    throw new UsageError(
      `--store names a folder, and ${quote(folder)} looks like a file. Give --store fits --sqlite ${folder}; if the file is there already, move it into that folder first, where it is read.`,
    );
  return folder;
}

function parseLabel({ store, parquet, label }: CommandOptions): string | undefined {
  if (label === undefined) return undefined;
  if (store === undefined && parquet === undefined)
    throw new UsageError("--label is of what --store and --parquet keep. Give one of them, too.");
  return parseText("label", label);
}

function parseWrap(value: unknown): readonly string[] {
  const text = parseText("wrap", value);
  return text === "root" ? [] : text.split("+");
}

function parsePrices(value: unknown, devices: readonly DeviceSpec[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    parseList("price", value).map((item) => {
      const [name, price, ...rest] = item.split("=");
      const number = Number(price);
      if (rest.length > 0 || price === undefined || price === "" || !(number > 0 && number < Number.POSITIVE_INFINITY))
        throw new UsageError(`--price expects what a device costs in an hour, as a100=2.5, found ${quote(item)}.`);
      if (!devices.some((device) => device.name === name))
        throw new UsageError(
          `--price names ${quote(name)}, which is none of --devices: ${devices.map((device) => device.name).join(", ")}.`,
        );
      return [name, number];
    }),
  );
}
