import { HeldMemory, heldPeak } from "@remat/memory";
import { holdPlan } from "@remat/memory/sequence";
import { priceTrace, stepMs } from "@remat/runtime-estimator";
import {
  type CategoryName,
  type DeviceNetwork,
  type DeviceSpec,
  type Plan,
  RematError,
  RuntimeSource,
  type Trace,
} from "@remat/trace";
import {
  type CheckpointedModules,
  CheckpointedRun,
  type Communication,
  type FsdpSimulation,
  type GroupParameter,
  type ShardingPlan,
  type StreamSchedule,
  scheduleStreams,
  shardRanks,
  simulateFsdp,
} from "../index.js";

/** What is to be compared, with the name that it is shown by: a sharding plan, or what is checkpointed on one device. */
export interface NamedSharding {
  readonly name: string;
  readonly plan?: ShardingPlan;
  readonly checkpoint?: readonly CheckpointedModules[];
  /** In the place of `checkpoint`, of a run of TensorFlow.js: the plan that its executor follows. */
  readonly followed?: Plan;
}

/** What one rank holds and receives under a sharding plan; of the run on one device, what that holds. */
export interface ShardingOutcome {
  readonly name: string;
  /** Undefined on one device. */
  readonly plan: ShardingPlan | undefined;
  readonly peakBytes: number;
  /** At the peak. */
  readonly bytesByCategory: Readonly<Partial<Record<CategoryName, number>>>;
  /** What other devices hold at most, whenever that is, by name: the host under offload. */
  readonly elsewhere: ReadonlyMap<string, number>;
  /** In a step. */
  readonly communication: Communication;
  /** Undefined where ops have no times. */
  readonly time: StepTime | undefined;
  /** What was taken to be so, as the run does not show it. */
  readonly assumptions: readonly string[];
  /** How parameters are sharded; left out on one device, and where each rank has all of them. */
  readonly sharded?: ShardedParameters;
}

/** How many parameters are sharded over how many ranks, in how many groups, and what they take. */
export interface ShardedParameters {
  readonly groups: number;
  readonly parameters: number;
  /** Of them, those that have fewer rows than there are ranks. */
  readonly shorter: number;
  readonly ranks: number;
  readonly bytes: number;
  /** With the padding by which each rank has as many rows. */
  readonly gatheredBytes: number;
}

/** What a step takes, in milliseconds. */
export interface StepTime {
  readonly stepMs: number;
  /** Of it, in ops of the model, those that run again included. */
  readonly computeMs: number;
  /** Of it, waiting for what other ranks or the host send. */
  readonly exposedMs: number;
  /** Undefined on one device. */
  readonly schedule: StreamSchedule | undefined;
  /** By group of the schedule: the modules, by name. */
  readonly groups: readonly string[];
}

export interface ShardingComparison {
  readonly model: string;
  /** The run on one device, then the plans in the order given. */
  readonly outcomes: readonly ShardingOutcome[];
  readonly memoryBytes: number | undefined;
  /** Of those that fit the quickest, or where ops have no times the one that receives least; where none fits, or nothing is known of a device, the one that holds least. */
  readonly best: ShardingOutcome;
  readonly reason:
    | "least time of those that fit"
    | "least communication of those that fit"
    | "least memory"
    | "least memory, and none fits";
}

export interface CompareShardingsOptions {
  /** Of a rank's device, where it is known. */
  readonly memoryBytes?: number | undefined;
  /** What ranks run on: without it nothing is told of time under a plan. */
  readonly device?: DeviceSpec | undefined;
  /** How ranks are joined; left out: as the device says. */
  readonly network?: DeviceNetwork | undefined;
}

/**
 * Returns what sharding plans come to for one rank, side by side, and which is best.
 *
 * @param trace priced, for anything to be told of time
 * @throws RematError as `simulateFsdp` does; it begins with the name of the plan that does not fit the model
 * @example
 * compareShardings(trace, [{ name: "8 ranks", plan: { worldSize: 8 } }], { memoryBytes: 80 * 2 ** 30 }).best.name;
 */
export function compareShardings(
  trace: Trace,
  shardings: readonly NamedSharding[],
  options: CompareShardingsOptions = {},
): ShardingComparison {
  const { memoryBytes } = options;
  const runs = new CheckpointedRun(trace);
  const simulations = shardings.map(({ name, plan }) =>
    plan === undefined ? undefined : naming(name, () => simulateFsdp(trace, plan, runs)),
  );
  // Of a trace of several steps each simulation knows how many.
  const steps = simulations.find((each) => each !== undefined)?.steps ?? 1;
  const compared = shardings.map(({ name, checkpoint, followed }, i) => {
    const simulation = simulations[i];
    if (followed !== undefined) return outcomeFollowing(name, trace, followed);
    return simulation === undefined
      ? naming(name, () => outcomeAlone(name, runs.under(checkpoint), steps, runs.bookkeepingMs(checkpoint)))
      : outcomeOf(name, simulation, options);
  });
  const outcomes = [outcomeAlone("one device", trace, steps), ...compared];
  const fitting = compared.filter(({ peakBytes }) => memoryBytes !== undefined && peakBytes <= memoryBytes);
  const isTimed = fitting.every(({ time }) => time !== undefined);
  return {
    model: trace.header.model ?? "model",
    outcomes,
    memoryBytes,
    best:
      fitting.length === 0
        ? least(compared, ({ communication, peakBytes, time }) => [
            peakBytes,
            receivedBytes(communication),
            time?.stepMs ?? 0,
          ])
        : least(fitting, ({ communication, peakBytes, time }) => [
            isTimed && time !== undefined ? time.stepMs : receivedBytes(communication),
            peakBytes,
          ]),
    reason:
      fitting.length === 0
        ? memoryBytes === undefined
          ? "least memory"
          : "least memory, and none fits"
        : isTimed
          ? "least time of those that fit"
          : "least communication of those that fit",
  };
}

/**
 * Returns what one rank holds and takes under a plan: the row that {@link compareShardings} has of it.
 *
 * @param runs the run, checkpointed: made once where plans are simulated by the dozen
 * @throws RematError as `simulateFsdp` does
 */
export function shardingOutcome(
  trace: Trace,
  { name, plan }: Required<Pick<NamedSharding, "name" | "plan">>,
  runs: CheckpointedRun,
  options: CompareShardingsOptions = {},
): ShardingOutcome {
  return outcomeOf(name, simulateFsdp(trace, plan, runs), options);
}

/** Runs what compares one of several plans; an error about that plan names it. */
function naming<T>(name: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof RematError) || error.code !== "SHARDING_PLAN") throw error;
    throw new RematError(error.code, `${name}: ${error.message}`, { cause: error });
  }
}

function outcomeAlone(name: string, trace: Trace, steps: number, bookkeepingMs = 0): ShardingOutcome {
  const opsMs = stepMs(trace);
  const ms = opsMs > 0 ? (opsMs + bookkeepingMs) / steps : 0;
  const { peakBytes, bytesByCategory } = heldPeak(trace);
  return {
    name,
    plan: undefined,
    peakBytes,
    bytesByCategory,
    elsewhere: new Map(),
    communication: nothingSent,
    time: ms > 0 ? { stepMs: ms, computeMs: ms, exposedMs: 0, schedule: undefined, groups: [] } : undefined,
    assumptions: [],
  };
}

/** On one device, where the executor for TensorFlow.js follows a plan. */
function outcomeFollowing(name: string, trace: Trace, plan: Plan): ShardingOutcome {
  const { peakBytes, bytesByCategory } = holdPlan(trace, plan);
  const ms = stepMs(trace);
  const { cost, plain } = plan.predicted;
  const time = { stepMs: ms + cost - plain.cost, computeMs: ms + cost - plain.cost, exposedMs: 0 };
  return {
    name,
    plan: undefined,
    peakBytes,
    bytesByCategory,
    elsewhere: new Map(),
    communication: nothingSent,
    time: ms > 0 ? { ...time, schedule: undefined, groups: [] } : undefined,
    assumptions: [],
  };
}

const nothingSent: Communication = { allGatherBytes: 0, reduceScatterBytes: 0, allReduceBytes: 0 };

function outcomeOf(name: string, simulation: FsdpSimulation, options: CompareShardingsOptions): ShardingOutcome {
  const { trace, plan, communication, assumptions } = simulation;
  const held = new HeldMemory();
  held.take(trace);
  const { peakBytes, bytesByCategory } = held.peak(trace.header.device);
  const { devices, present } = held.storages;
  const elsewhere = new Map(
    Array.from(present, (device) => devices[device])
      .filter((device) => device !== trace.header.device)
      .map((device) => [device, held.peak(device).peakBytes]),
  );
  const sharded = plan.strategy === undefined && { sharded: shardedParameters(simulation) };
  const time = timeOf(simulation, options);
  return { name, plan, peakBytes, bytesByCategory, elsewhere, communication, time, assumptions, ...sharded };
}

function shardedParameters({ plan, groups }: FsdpSimulation): ShardedParameters {
  const ranks = shardRanks(plan);
  const parameters = groups.flatMap((group) => group.parameters);
  const sum = (of: (parameter: GroupParameter) => number): number => parameters.reduce((all, p) => all + of(p), 0);
  return {
    groups: groups.length,
    parameters: parameters.length,
    shorter: sum(({ shape: [rows = 1] }) => (rows < ranks ? 1 : 0)),
    ranks,
    bytes: sum(({ gatheredBytes, elements, shard }) =>
      elements === 0 ? 0 : (gatheredBytes * elements) / (shard.paddedElements * ranks),
    ),
    gatheredBytes: sum(({ gatheredBytes }) => gatheredBytes),
  };
}

function timeOf(
  simulation: FsdpSimulation,
  { device, network = device?.network }: CompareShardingsOptions,
): StepTime | undefined {
  const { trace, steps, groups, plan } = simulation;
  const joined = network ?? (plan.worldSize === 1 ? unused : undefined);
  if (device === undefined || joined === undefined) return undefined;
  // What a device takes by its figures it takes in another precision, too; what was measured stays.
  const priced = trace.ops.runtimeSource.includes(RuntimeSource.roofline) ? priceTrace(trace, device) : trace;
  const schedule = scheduleStreams(simulation, priced, { ...device, network: joined });
  if (schedule.computeMs === 0) return undefined;
  return {
    stepMs: schedule.totalMs / steps,
    computeMs: schedule.computeMs / steps,
    exposedMs: schedule.exposedMs / steps,
    schedule,
    groups: groups.map(({ modules }) => modules.map((module) => trace.modules[module].fqn).join(" + ")),
  };
}

/** One rank sends nothing. */
const unused: DeviceNetwork = { perNode: 1, nodeGBps: 1, betweenGBps: 1, latencyUs: 1 };

/** Returns what a rank receives in a step, in bytes. */
export function receivedBytes({ allGatherBytes, reduceScatterBytes, allReduceBytes }: Communication): number {
  return allGatherBytes + reduceScatterBytes + allReduceBytes;
}

/** By the first number of each, of equal ones by the next. */
function least<T>(items: readonly T[], of: (item: T) => readonly number[]): T {
  return items.reduce((best, item) => {
    const [a, b] = [of(item), of(best)];
    const place = a.findIndex((value, i) => value !== b[i]);
    return place >= 0 && a[place] < b[place] ? item : best;
  });
}
