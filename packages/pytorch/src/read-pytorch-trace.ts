import {
  type AtenValue,
  Category,
  encodeAtenArguments,
  OpFlag,
  Phase,
  RematError,
  RuntimeSource,
  resetModStatsMark,
  Trace,
  TraceBuilder,
} from "@remat/trace";
import { atenFlags } from "./aten-flags.js";
import { writesByName } from "./aten-names.js";
import { FsdpHooks } from "./fsdp-hooks.js";
import { ModuleActivity } from "./module-activity.js";
import { asOracleFile, type Encoded, fqnAt, lineAt, type OracleEvent, type OracleFile } from "./oracle-file.js";
import { RegionScopes } from "./region-scopes.js";
import { TensorTable } from "./tensor-table.js";

/**
 * Converts a recorded PyTorch run to a trace. `file` is the parsed JSON of the exporter's file (schemas `sac-oracle/1`,
 * `rt-oracle/1`, `mem-oracle/1` and `fsdp-oracle/1`).
 *
 * It reads observations only: ops with their arguments and results, modules, saved tensors, and events of storages. It
 * does not use the times, memory figures and flags that PyTorch's estimators wrote into the file.
 *
 * - **Ops** have names such as `aten.addmm.default`, and `atenArguments` returns their arguments. Their phase is
 *   `optimizer`, `recompute`, `backward` or `forward`. Flags and writes come from the schemas of the installed PyTorch.
 *   In recordings of earlier exporters they come from the ops' names ({@link atenFlags}). An op that raised is left
 *   out, with a note in the trace.
 * - **Storages** of modules and of the model's input are allocated first. Others are allocated just before the op that
 *   creates them, with a category by its phase (activation, temporary, optimizer state). In the memory schemas, a
 *   storage takes no bytes until PyTorch's tracker first sees it.
 * - **Modules** have their parameters and buffers (except in sharded models), and enter and exit events with the passed
 *   tensors. Each op has its stack of active calls. `rt-oracle` and `fsdp-oracle` only have the set of active modules
 *   at each op, so enter and exit events are written when that set changes. In the memory schemas, a module's enter
 *   event comes after its hook, which sets the categories of its parameters.
 * - **Other dtypes** in which the step was also recorded are traces of their own, in `recordedIn`.
 * - **Checkpointed regions** are scopes, entered in the forward pass and again when they are recomputed. Each op has
 *   the line of the program that called it.
 * - **Memory**: `ref` becomes a change of category, `del` a free, and `resize` a resize. Marks keep their names.
 *   `resetModStatsMark` marks the start of new statistics. A module call that replaces its own state has a
 *   `stateReplacedMark`. A call that changes state other than tensors has a `stateChangedMark`. FSDP's hooks are
 *   `fsdpHook` events, each at the moment of the tracker's snapshot.
 *
 * @throws RematError `PYTORCH_SCHEMA` for another schema, `PYTORCH_FILE` for a damaged file, with the event
 * @example
 * const trace = readPyTorchTrace(JSON.parse(await readFile("sac_03_mlp.json", "utf8")));
 */
export function readPyTorchTrace(file: unknown): Trace {
  const oracle = asOracleFile(file);
  const reader = damagedUnless(oracle, () => new TraceReader(oracle));
  for (const [i, event] of oracle.events.entries()) {
    try {
      reader.event(event, i);
    } catch (cause) {
      throw new RematError(
        "PYTORCH_FILE",
        `event ${i} (${JSON.stringify(event?.e)}) of ${oracle.case}: ${(cause as Error).message}. Export the run again.`,
        { cause },
      );
    }
  }
  const trace = damagedUnless(oracle, () => reader.end());
  const others = Object.entries(oracle.recorded_in ?? {});
  if (others.length === 0) return trace;
  const recordedIn = others.map(([dtype, other]) => [dtype, readPyTorchTrace(other)] as const);
  return new Trace({ ...trace, recordedIn: new Map(recordedIn) });
}

/** Runs a function on the file as a whole. An error of that function means that the file is damaged. */
function damagedUnless<T>(oracle: OracleFile, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new RematError("PYTORCH_FILE", `${oracle.case}: ${(cause as Error).message}. Export the run again.`, {
      cause,
    });
  }
}

const categories: Readonly<Record<string, number>> = {
  Parameter: Category.parameter,
  Buffer: Category.buffer,
  Gradient: Category.gradient,
  Activation: Category.activation,
  Temp: Category.temporary,
  Optstate: Category.optimizerState,
  OptState: Category.optimizerState,
  Other: Category.other,
  Inputs: Category.input,
  "Sharded Param": Category.shardedParameter,
  "Unsharded Param": Category.unshardedParameter,
  "Sharded Grad": Category.shardedGradient,
  "Unsharded Grad": Category.unshardedGradient,
  "All Gather": Category.allGather,
  "Reduce Scatter": Category.reduceScatter,
};

class TraceReader {
  private readonly file: OracleFile;
  private readonly builder: TraceBuilder;
  private readonly tensors: TensorTable;
  private readonly activity: ModuleActivity;
  private readonly fsdp: FsdpHooks;
  private readonly regions: RegionScopes;
  /** True if modules have events of their own. Otherwise the sets of active modules of ops are used. */
  private readonly hasModuleEvents: boolean;
  /** True if a memory tracker ran. In this case, inputs of ops do not count if the tracker never saw them. */
  private readonly tracksMemory: boolean;
  /** Module hooks of the memory schemas that have begun, innermost last. */
  private readonly openHooks: (() => void)[] = [];
  /** Storages that the tracker visits when a module is entered: its weights and their gradients. */
  private owned: { readonly fqn: string; readonly storages: Set<number> } | undefined;
  private readonly openRecords: string[] = [];
  private readonly notes: string[] = [];
  /** For each `pack` event, the first of its saves, one for each storage. */
  private readonly firstSave: number[] = [];
  private sawBackward = false;

  constructor(file: OracleFile) {
    const { config } = file;
    this.file = file;
    this.builder = new TraceBuilder({
      framework: "pytorch",
      frameworkVersion: config.torch,
      device: config.device,
      mode: config.mode === "real" ? "real" : "fake",
      allocationUnitBytes: config.min_allocate,
      model: file.case,
      ...(config.host_ms !== undefined && { hostMs: config.host_ms }),
      ...(config.checkpoint_ms !== undefined && { checkpointingMs: config.checkpoint_ms }),
      ...(file.module_tree.length > 0 && { moduleCount: file.module_tree.length }),
      libraries: { torch: config.torch, ...(config.numpy !== undefined && { numpy: config.numpy }) },
      notes: this.notes,
    });
    this.tensors = new TensorTable(this.builder, file);
    this.activity = new ModuleActivity(this.builder, file, this.tensors);
    this.fsdp = new FsdpHooks(this.builder, this.activity, file);
    this.regions = new RegionScopes(this.builder, file);
    this.tracksMemory = file.schema === "mem-oracle/1" || file.schema === "fsdp-oracle/1";
    this.hasModuleEvents = file.schema === "sac-oracle/1" || file.schema === "mem-oracle/1";
    // The events of these schemas have no categories, so they come from the model.
    if (file.schema === "sac-oracle/1" || file.schema === "rt-oracle/1") {
      for (const module of file.module_tree) {
        for (const [, tensor] of module.params ?? [])
          if (typeof tensor === "number") this.tensors.find(tensor, Category.parameter);
        for (const [, tensor] of module.buffers ?? []) this.tensors.find(tensor, Category.buffer);
      }
      this.list(file.input, Category.input);
    }
    if (file.config.kernels === "cuda") this.notes.push("attention and dropout are the kernels that CUDA has");
    if (config.besides !== undefined) {
      this.builder.allocate(config.besides, config.device, Category.other);
      this.notes.push(
        `${config.besides} bytes in use are in no tensor of the step: memory of CUDA's libraries, such as cuBLAS workspaces, and tensors that the step does not use`,
      );
    }
    if (file.error) this.notes.push(`the run raised ${file.error.type}: ${file.error.msg}`);
  }

  end(): Trace {
    return this.builder.build();
  }

  event(event: OracleEvent, at: number): void {
    switch (event.e) {
      case "op":
        return this.op(event);
      case "pre":
        return this.enter(event, Phase.forward, event.in, event.leaf === 1);
      case "post":
        return this.exit(event, Phase.forward, undefined);
      case "pack":
        this.firstSave.push(this.builder.saveCount);
        for (const storage of numbers(event.s)) this.builder.save(this.tensors.storage(storage, Category.other));
        return;
      case "unpack":
        for (const save of this.savesOf(event.n)) this.builder.unpack(save);
        return;
      case "unsave":
        for (const save of this.savesOf(event.n)) this.builder.unsave(save);
        return;
      case "saved_only":
        return this.builder.savedOnly(this.tensors.storage(event.s as number, Category.other));
      case "pre_fw":
        this.owned =
          event.m === null || event.m === undefined
            ? undefined
            : { fqn: fqnAt(this.file, event.m), storages: new Set() };
        this.openHooks.push(() => this.enter(event, event.bw ? Phase.recompute : Phase.forward, event.x, undefined));
        return;
      case "post_fw":
        this.openHooks.push(() => this.exit(event, event.bw ? Phase.recompute : Phase.forward, event.x));
        return;
      case "pre_bw":
        this.openHooks.push(() => this.enter(event, Phase.backward, event.x, undefined));
        return;
      case "post_bw":
        this.openHooks.push(() => this.exit(event, Phase.backward, event.x));
        return;
      case "hook_done": {
        const hook = this.openHooks.pop();
        if (hook === undefined) throw new Error("a hook ends that did not begin");
        if (this.owned !== undefined) this.activity.owns(this.owned.fqn, this.owned.storages);
        this.owned = undefined;
        return hook();
      }
      case "hook":
        return this.fsdp.hook(event, at);
      case "snapshot":
        return this.fsdp.snapshot(at);
      case "ref":
        for (const storage of numbers(event.s)) {
          this.owned?.storages.add(storage);
          this.categorize(storage, event.r ?? "");
        }
        return;
      case "del":
        this.builder.free(this.tensors.storage(event.s as number, Category.other));
        return;
      case "resize":
        this.builder.resize(this.tensors.storage(event.s as number, Category.other), event.n ?? Number.NaN);
        return;
      case "region":
        return this.regions.begin(event, event.x === undefined ? undefined : this.list(event.x, Category.other));
      case "region_end":
        return this.regions.end(event, event.x === undefined ? undefined : this.list(event.x, Category.other));
      case "mark":
        return this.builder.mark(event.name ?? "");
      case "reset_mod_stats":
        return this.builder.mark(resetModStatsMark);
      case "opt_states":
        return this.builder.mark("optimizerStates");
      case "enter":
      case "exit":
        return this.builder.mark(event.e);
      default:
        throw new Error(`unknown kind of event ${JSON.stringify(event.e)}`);
    }
  }

  /** Returns the saves of the `n`-th `pack` event. */
  private savesOf(n = Number.NaN): number[] {
    const first = this.firstSave[n];
    if (first === undefined)
      throw new Error(`expected one of the ${this.firstSave.length} tensors saved before in 'n', found ${n}`);
    const end = this.firstSave[n + 1] ?? this.builder.saveCount;
    return Array.from({ length: end - first }, (_, i) => first + i);
  }

  private op(event: OracleEvent): void {
    const { name, declares } = this.file.funcs[event.f ?? -1] ?? {};
    if (name === undefined)
      throw new Error(`expected an index below ${this.file.funcs.length} in 'f', found ${event.f}`);
    if (event.raised !== undefined) {
      this.notes.push(`${name} raised ${event.raised} and is left out`);
      return;
    }
    const phase = this.phaseOf(event, name);
    if (!this.hasModuleEvents && event.p !== undefined) this.activity.follow(event.p, phase);
    const made =
      phase === Phase.optimizer
        ? Category.optimizerState
        : phase === Phase.backward
          ? Category.temporary
          : Category.activation;
    const had = declares === undefined && writesByName(name) ? this.storagesKnown(event.o ?? null) : undefined;
    // The result is read first: an op may return one of its inputs, and then the phase of the op decides the category.
    const out = this.value(event.o ?? null, made, true);
    const seen = !this.tracksMemory;
    const args = (event.a ?? []).map((value) => this.value(value, Category.other, seen));
    const kwargs = Object.fromEntries(
      Object.entries((event.k ?? {}) as Readonly<Record<string, Encoded>>).map(([key, value]) => [
        key,
        this.value(value, Category.other, seen),
      ]),
    );
    if (event.ws !== undefined) {
      if (!Number.isSafeInteger(event.ws)) throw new Error(`expected bytes in 'ws', found ${JSON.stringify(event.ws)}`);
      this.builder.free(this.builder.allocate(event.ws, this.file.config.device, Category.temporary));
    }
    const encoded = encodeAtenArguments({ args, kwargs, out });
    const written = new Set(
      had ?? (event.w ?? []).map((storage) => this.tensors.storage(storage, Category.other, seen)),
    );
    const flags = atenFlags(name, kwargs, declares && { ...declares, isView: this.isView(encoded, written) });
    this.builder.op({
      name,
      phase,
      flags: event.g ? flags | OpFlag.effectful : flags,
      writes: this.on(written, [...encoded.inputs, ...encoded.outputs]),
      stack: this.activity.stack(),
      scope: this.regions.innermost,
      line: lineAt(this.file, event.l),
      ...(event.ms !== undefined && {
        runtimeMs: event.ms,
        runtimeSource: RuntimeSource.measured,
        runtimeRuns: event.runs ?? 1,
      }),
      ...encoded,
    });
  }

  /** Returns whether an op has results, and all of them are on input storages that it does not write into. */
  private isView({ inputs, outputs }: ReturnType<typeof encodeAtenArguments>, written: ReadonlySet<number>): boolean {
    const given = new Set(inputs.flatMap((tensor) => this.builder.storagesOf(tensor)));
    const results = outputs.flatMap((tensor) => this.builder.storagesOf(tensor));
    return results.length > 0 && results.every((storage) => given.has(storage) && !written.has(storage));
  }

  /** Returns the tensors that are on one of these storages, each once. */
  private on(storages: ReadonlySet<number>, tensors: readonly number[]): number[] {
    if (storages.size === 0) return [];
    return [...new Set(tensors)].filter((tensor) => this.builder.storagesOf(tensor).some((one) => storages.has(one)));
  }

  /**
   * Returns the storages of a result that existed before the op. Files of earlier exporters do not say which of them
   * the exporter restores, so the counters of batch normalization are left out.
   */
  private storagesKnown(out: Encoded): number[] {
    const storages = this.storagesIn(out).filter((storage) => this.tensors.hasStorage(storage));
    const isCounting = /BatchNorm/.test(this.activity.innermostKind ?? "");
    const found = storages.map((storage) => this.tensors.storage(storage, Category.other));
    return isCounting ? found.filter((storage) => this.builder.categoryOf(storage) !== Category.buffer) : found;
  }

  /** Returns the file's storages of all tensors in `value`. */
  private storagesIn(value: Encoded): number[] {
    if (typeof value === "string" && value.startsWith("%"))
      return [...numbers(this.file.tensors[Number(value.slice(1))]?.s)];
    return typeof value === "object" && value !== null
      ? Object.values(value).flatMap((item) => this.storagesIn(item as Encoded))
      : [];
  }

  /**
   * Returns the phase of an op. Runtime files do not mark the ops of the optimizer, but the profiler's records around
   * its step do.
   */
  private phaseOf(event: OracleEvent, name: string): number {
    const inOptimizer = this.openRecords.some((record) => record.startsWith("Optimizer."));
    if (name.startsWith("profiler._record_function_enter")) this.openRecords.push(String(event.a?.[0] ?? ""));
    else if (name.startsWith("profiler._record_function_exit")) this.openRecords.pop();
    if (event.opt) return Phase.optimizer;
    if (event.ac) return Phase.recompute;
    if (event.bw) {
      this.sawBackward = true;
      return Phase.backward;
    }
    if (this.file.schema !== "rt-oracle/1") return Phase.forward;
    const entersOptimizer = this.openRecords.some((record) => record.startsWith("Optimizer."));
    return this.sawBackward && (inOptimizer || entersOptimizer) ? Phase.optimizer : Phase.forward;
  }

  private enter(event: OracleEvent, phase: number, tensors: Encoded | undefined, leaf: boolean | undefined): void {
    if (event.m === null || event.m === undefined) return;
    const list = this.list(tensors, Category.other);
    if (this.activity.isEnteredInHook(fqnAt(this.file, event.m), phase)) return;
    this.builder.enterModule(this.activity.enter(fqnAt(this.file, event.m), phase, leaf, list.length > 0), phase, list);
  }

  private exit(event: OracleEvent, phase: number, tensors: Encoded | undefined): void {
    if (event.m === null || event.m === undefined) return;
    const call = this.activity.exit(fqnAt(this.file, event.m), phase);
    if (call !== undefined) this.builder.exitModule(call, phase, this.list(tensors, Category.other));
  }

  private categorize(storage: number, name: string): void {
    const category = categories[name];
    if (category === undefined)
      throw new Error(`expected one of ${Object.keys(categories).join(", ")} in 'r', found ${JSON.stringify(name)}`);
    if (this.tensors.hasStorage(storage)) this.builder.categorize(this.tensors.storage(storage, category), category);
    else this.tensors.storage(storage, category);
  }

  private value(value: Encoded, category: number, tracked: boolean): AtenValue {
    if (typeof value === "string") {
      if (value.startsWith("%")) return { tensor: this.tensors.find(Number(value.slice(1)), category, tracked) };
      if (value.startsWith("str:")) return value.slice(4).replace(/^torch\./, "");
      if (value.startsWith("float:")) return pythonFloats[value.slice(6)] ?? Number(value.slice(6));
      return value;
    }
    if (Array.isArray(value)) return value.map((item) => this.value(item as Encoded, category, tracked));
    if (typeof value === "object" && value !== null)
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [key, this.value(item as Encoded, category, tracked)]),
      );
    return value as null | boolean | number;
  }

  /** Returns all tensors in `value`, however nested. */
  private list(value: Encoded | undefined, category: number, into: number[] = []): number[] {
    if (typeof value === "string" && value.startsWith("%"))
      into.push(this.tensors.find(Number(value.slice(1)), category, !this.tracksMemory));
    else if (typeof value === "object" && value !== null)
      for (const item of Object.values(value)) this.list(item as Encoded, category, into);
    return into;
  }
}

const pythonFloats: Readonly<Record<string, number>> = { inf: Infinity, "-inf": -Infinity, nan: Number.NaN };

function numbers(value: number | readonly number[] | undefined): readonly number[] {
  return typeof value === "number" ? [value] : (value ?? []);
}
