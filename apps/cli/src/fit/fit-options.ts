import { availableParallelism } from "node:os";
import { type FitRequest, type FitWayName, fitWays } from "@remat/fit";
import { defaultDevice } from "@remat/runtime-estimator";
import type { DeviceSpec } from "@remat/trace";
import { type OptionValues, optionsWithout, type TypedOptions } from "../command.js";
import { stepOptions } from "../model-options.js";
import { readDevice } from "../pricing-options.js";
import { networkOf } from "../sharding-option.js";
import { quote, UsageError } from "../usage-error.js";
import type { fitGridOptions } from "./fit-grid-options.js";

/** Options not accepted for the step, because they are searched over or decided by a strategy. */
const chosen = ["batch", "optimizer", "data", "checkpointing"] as const;

/** Options for the steps of a search. */
export const fitStepOptions = optionsWithout(stepOptions, chosen);

/** The parsed options of `remat fit` except those of the steps. */
export interface FitOptions {
  readonly request: FitRequest;
  readonly prices: Readonly<Record<string, number>>;
  readonly workers: number;
  readonly cache: string | undefined;
  /** The server of a fleet. */
  readonly engine: string | undefined;
  readonly watches: boolean;
  readonly prunes: boolean;
  /** Output file of the page. */
  readonly page: string | undefined;
  readonly apply: string | undefined;
  readonly store: string | undefined;
  readonly sqlite: string | undefined;
  readonly parquet: string | undefined;
  readonly label: string | undefined;
}

export type FitOptionValues = OptionValues<typeof fitGridOptions | typeof fitStepOptions>;

/**
 * Parses the options of `remat fit`.
 *
 * @throws UsageError naming the option; RematError `DEVICE_FILE`
 */
export function fitOptionsOf(options: FitOptionValues, { devices: all, device: one }: TypedOptions): FitOptions {
  if (all !== undefined && one !== undefined)
    throw new UsageError("--device and --devices cannot be combined. Name all devices in --devices.");
  const devices = options.devices ?? options.device ?? [readDevice(defaultDevice)];
  const { objective } = options;
  const prices = {
    ...Object.fromEntries(
      devices.flatMap(({ name, pricePerHour }) => (pricePerHour === undefined ? [] : [[name, pricePerHour]])),
    ),
    ...pricesOf(options.price, devices),
  };
  if (objective === "cost" && Object.keys(prices).length === 0)
    throw new UsageError(
      `--objective cost needs prices per hour. Pass --price ${devices[0].name}=2.5, or set pricePerHour in a device file.`,
    );
  const request: FitRequest = {
    devices,
    objective,
    iterations: options.iterations,
    memoryBytes: options.memory,
    reserveBytes: options.reserve,
    batches: options.batch,
    optimizers: options.optimizer,
    precisions: options.precision,
    ways: waysOf(options),
    ranks: options.ranks,
    wraps: options.wrap,
    network: options.network === undefined ? undefined : networkOf(options.network, devices[0]),
    globalBatch: options.globalBatch,
    maxOverhead: options.maxOverhead,
    seed: options.seed,
  };
  return {
    request,
    prices,
    workers: workersOf(options),
    engine: options.engine,
    watches: options.watch,
    prunes: options.matrix,
    page: options.html,
    cache: options.cache,
    apply: options.apply,
    store: options.store,
    sqlite: options.sqlite,
    parquet: options.parquet,
    label: labelOf(options),
  };
}

function waysOf({ offload, ways }: FitOptionValues): readonly FitWayName[] | undefined {
  if (ways === undefined) return offload ? fitWays.map(({ name }) => name) : undefined;
  return offload && !ways.includes("offload") ? [...ways, "offload"] : ways;
}

/** Returns the number of search threads. */
export function workersOf({ workers = Math.min(8, availableParallelism()) }: Pick<FitOptionValues, "workers">): number {
  return workers;
}

function labelOf({ store, parquet, label }: FitOptionValues): string | undefined {
  if (label !== undefined && store === undefined && parquet === undefined)
    throw new UsageError("--label names rows of --store and --parquet, and neither was given. Add one of them.");
  return label;
}

function pricesOf(prices: FitOptionValues["price"] = [], devices: readonly DeviceSpec[]) {
  const unknown = prices.find(([name]) => !devices.some((device) => device.name === name));
  if (unknown !== undefined)
    throw new UsageError(
      `--price names ${quote(unknown[0])}, which is not one of --devices: ${devices.map((device) => device.name).join(", ")}.`,
    );
  return Object.fromEntries(prices);
}
