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

/** One alternative to compare, with its display name: a sharding plan, or checkpointing on one device. */
export interface NamedSharding {
  readonly name: string;
  readonly plan?: ShardingPlan;
  readonly checkpoint?: readonly CheckpointedModules[];
  /** For a run of TensorFlow.js: the plan that its executor follows, instead of `checkpoint`. */
  readonly followed?: Plan;
}

/** The memory, communication and time of one rank under a sharding plan, or of the run on one device. */
export interface ShardingOutcome {
  readonly name: string;
  /** The sharding plan. Undefined on one device. */
  readonly plan: ShardingPlan | undefined;
  /** Peak memory of the rank's device, in bytes. */
  readonly peakBytes: number;
  /** Bytes in use at the peak, by category. */
  readonly bytesByCategory: Readonly<Partial<Record<CategoryName, number>>>;
  /** Peak bytes of other devices by name, such as the host under offload, each at its own peak. */
  readonly elsewhere: ReadonlyMap<string, number>;
  /** Bytes that a rank receives per step. */
  readonly communication: Communication;
  /** The time of a step. Undefined if ops have no times. */
  readonly time: StepTime | undefined;
  /** Assumptions about facts that the run does not show. */
  readonly assumptions: readonly string[];
  /** How parameters are sharded. Left out on one device, and if each rank has all parameters. */
  readonly sharded?: ShardedParameters;
}

/** How many parameters are sharded over how many ranks, in how many groups, and how many bytes they take. */
export interface ShardedParameters {
  /** The number of parameter groups. */
  readonly groups: number;
  /** The number of parameters. */
  readonly parameters: number;
  /** The number of parameters with fewer rows than there are ranks. */
  readonly shorter: number;
  /** The number of ranks over which each parameter is sharded. */
  readonly ranks: number;
  /** Bytes of all parameters without padding, in the dtype in which they are all-gathered. */
  readonly bytes: number;
  /** Bytes including the padding that gives each rank the same number of rows. */
  readonly gatheredBytes: number;
}

/** The time of a step, in milliseconds. */
export interface StepTime {
  /** The duration of the step. */
  readonly stepMs: number;
  /** The part spent in ops of the model, including recomputation. */
  readonly computeMs: number;
  /** The part spent waiting for other ranks or the host. */
  readonly exposedMs: number;
  /** The schedule of the rank's streams. Undefined on one device. */
  readonly schedule: StreamSchedule | undefined;
  /** For each group of the schedule, the names of its modules. */
  readonly groups: readonly string[];
}

/** The outcomes of all alternatives of {@link compareShardings}, and the best one. */
export interface ShardingComparison {
  readonly model: string;
  /** The run on one device, then the plans in the order given. */
  readonly outcomes: readonly ShardingOutcome[];
  /** The memory of a rank's device, or undefined if unknown. */
  readonly memoryBytes: number | undefined;
  /**
   * The fastest alternative that fits. If ops have no times, it is the alternative that fits and receives the fewest
   * bytes. If none fits, or the memory of the device is unknown, it is the alternative with the smallest peak.
   */
  readonly best: ShardingOutcome;
  /** The criterion by which `best` was chosen. */
  readonly reason:
    | "least time of those that fit"
    | "least communication of those that fit"
    | "least memory"
    | "least memory, and none fits";
}

/** Options of {@link compareShardings}. */
export interface CompareShardingsOptions {
  /** The memory of a rank's device, if known. */
  readonly memoryBytes?: number | undefined;
  /** The device of the ranks. Without it, times under a plan are left out. */
  readonly device?: DeviceSpec | undefined;
  /** The network between ranks. Default: the network of `device`. */
  readonly network?: DeviceNetwork | undefined;
}

/**
 * Returns the outcomes of several sharding plans for one rank, and the best of them.
 *
 * @param trace the run, with estimated times if the outcomes should include times
 * @throws RematError as `simulateFsdp` does; the message begins with the name of the plan that does not match the model
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
  // In a trace of several steps each simulation counts them.
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
 * Returns the outcome of one plan for one rank, as {@link compareShardings} lists it.
 *
 * @param runs the checkpointed run; create it once to simulate many plans
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

/**
 * Runs a function for one of several plans. If an error is about that plan, its message begins with the name of the
 * plan.
 */
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

/** Returns the outcome on one device if the executor for TensorFlow.js follows a plan. */
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
  // Estimated times may change with the precision, so they are estimated again. Measured times stay.
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

/** The network of a single rank, which sends nothing. */
const unused: DeviceNetwork = { perNode: 1, nodeGBps: 1, betweenGBps: 1, latencyUs: 1 };

/** Returns the bytes that a rank receives per step. */
export function receivedBytes({ allGatherBytes, reduceScatterBytes, allReduceBytes }: Communication): number {
  return allGatherBytes + reduceScatterBytes + allReduceBytes;
}

/** Returns the item with the smallest first number. If first numbers are equal, the next number decides. */
function least<T>(items: readonly T[], of: (item: T) => readonly number[]): T {
  return items.reduce((best, item) => {
    const [a, b] = [of(item), of(best)];
    const place = a.findIndex((value, i) => value !== b[i]);
    return place >= 0 && a[place] < b[place] ? item : best;
  });
}
