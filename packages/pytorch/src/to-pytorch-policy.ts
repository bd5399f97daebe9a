import {
  describePlanMismatch,
  findPlanMismatch,
  forwardOpsByCall,
  itemAt,
  type OpIndex,
  Phase,
  type Plan,
  RematError,
  type Trace,
} from "@remat/trace";

/** The version of the policy format, which each file states. The exporter rejects other versions. */
const pyTorchPolicyFormat = "remat-pytorch-policy/1";

/**
 * The decision to save or recompute the result of one op in a module's forward pass, with the names of
 * `torch.utils.checkpoint.CheckpointPolicy`.
 */
export interface PyTorchOpPolicy {
  /** The name of the op, such as `aten.addmm.default`. */
  readonly op: string;
  /** The number of ops of that name before it in the same call of the module. */
  readonly ordinal: number;
  readonly policy: "MUST_SAVE" | "PREFER_RECOMPUTE";
}

/** Selective checkpointing of some modules, for `remat.apply`. */
export interface PyTorchPolicy {
  readonly format: typeof pyTorchPolicyFormat;
  readonly model: string;
  /** The fingerprint of the plan's subject. */
  readonly fingerprint: string;
  /** The policies by name of the module within the model, as in `model.named_modules()`. The model itself is `""`. */
  readonly modules: Readonly<Record<string, readonly PyTorchOpPolicy[]>>;
}

/** Options of {@link toPyTorchPolicy}. */
export interface PyTorchPolicyOptions {
  /**
   * The modules to checkpoint, by name, with or without the model's name in front. None of them may be inside another
   * one: only policies of {@link toCheckpointPolicyFile} support nested modules. Default: the outermost modules in a
   * list (`layers.0`, `layers.1`), or, if none exist, the children of the model.
   */
  readonly modules?: readonly string[];
}

/** Ops for which PyTorch's selective checkpointing does not ask the policy. */
const unasked: ReadonlySet<string> = new Set(["aten.detach.default", "prim.device.default"]);

/**
 * Returns a plan as a policy for `torch.utils.checkpoint.create_selective_checkpoint_contexts`. The policy states for
 * each checkpointed module which results to save and which to recompute. A result is saved if the plan keeps it from
 * the forward pass until the backward pass of that module call begins.
 *
 * PyTorch checkpoints a module as a whole: everything that is not saved is recomputed when the module's backward pass
 * begins. A plan is finer than that, so the policy only comes close to the plan's peak and time. `planOfCheckpoints` of
 * `@remat/planner` computes the actual figures of a policy.
 *
 * Modules in which the plan recomputes nothing are left out. Views, in-place ops and the results they write into are
 * always recomputed, since PyTorch cannot save them. If a module is called several times, a result is saved if the plan
 * keeps it in every call.
 *
 * @param trace the planned trace of a PyTorch run
 * @throws RematError `PLAN_MISMATCH` if the plan belongs to another trace; `PYTORCH_POLICY` for a trace of another
 * framework, for an unknown module, or for a module inside another checkpointed module
 * @example
 * await fs.writeFile("policy.json", JSON.stringify(toPyTorchPolicy(plan, trace)));
 */
export function toPyTorchPolicy(plan: Plan, trace: Trace, options: PyTorchPolicyOptions = {}): PyTorchPolicy {
  if (trace.header.framework !== "pytorch")
    throw policyError(
      `the trace is of ${trace.header.framework}, not of pytorch. Follow its plan with @remat/checkpoint`,
    );
  const mismatch = findPlanMismatch(plan, trace);
  if (mismatch !== undefined)
    throw new RematError(
      "PLAN_MISMATCH",
      `the plan is for another trace: ${describePlanMismatch(mismatch)}. Plan this trace.`,
    );
  const units = unitsOf(trace, options.modules);
  const again = recomputedModules(plan, trace);
  const isHeld = holdsOps(plan, trace);
  const opsOf = forwardOpsByCall(trace);
  const modules: Record<string, PyTorchOpPolicy[]> = {};
  for (const fqn of units) if (again.has(fqn)) modules[nameInModel(fqn)] = policiesOf(trace, fqn, { opsOf, isHeld });
  return { format: pyTorchPolicyFormat, model: plan.subject.name, fingerprint: plan.subject.fingerprint, modules };
}

/**
 * Returns the modules that a policy checkpoints by default: the outermost modules in a list, or, if none exist, the
 * children of the model. Names are those of the trace.
 */
export function checkpointableModules(trace: Trace): string[] {
  const called = [...new Set(Array.from(trace.calls.module, (module) => itemAt(trace.modules, module).fqn))];
  const outermost = (fqns: readonly string[]) =>
    fqns.filter((fqn) => !fqns.some((other) => fqn.startsWith(`${other}.`)));
  const inLists = outermost(called.filter((fqn) => /\.\d+$/.test(fqn)));
  if (inLists.length > 0) return inLists;
  const below = called.filter((fqn) => fqn.split(".").length === 2 && !isLeaf(trace, fqn));
  return below.length > 0 ? below : outermost(called);
}

function isLeaf(trace: Trace, fqn: string): boolean {
  return trace.modules.some((module) => module.fqn === fqn && module.leaf);
}

function unitsOf(trace: Trace, names: readonly string[] | undefined): readonly string[] {
  if (names === undefined) return checkpointableModules(trace);
  const known = new Set(Array.from(trace.calls.module, (module) => itemAt(trace.modules, module).fqn));
  const units = names.map((name) => {
    const fqn = known.has(name) ? name : [...known].find((one) => nameInModel(one) === name);
    if (fqn === undefined)
      throw policyError(
        `no module ${JSON.stringify(name)} runs in this trace. Name one of ${[...known].slice(0, 8).join(", ")}`,
      );
    return fqn;
  });
  for (const fqn of units)
    for (const other of units)
      if (fqn.startsWith(`${other}.`))
        throw policyError(`module ${fqn} is inside ${other}, which is checkpointed as a whole. Name one of them`);
  return units;
}

/** Returns a module's name within the model: `Net.layers.0` is `layers.0`, and `Net` is the model itself. */
function nameInModel(fqn: string): string {
  const dot = fqn.indexOf(".");
  return dot < 0 ? "" : fqn.slice(dot + 1);
}

/** Returns the modules, at any depth, in which an op is recomputed. */
function recomputedModules(plan: Plan, trace: Trace): Set<string> {
  const { calls, modules } = trace;
  const again = new Set<string>();
  for (const { op, isRecomputed } of plan.steps)
    if (isRecomputed) for (const call of trace.opCalls(op)) again.add(itemAt(modules, itemAt(calls.module, call)).fqn);
  return again;
}

/**
 * Returns a function that tests whether the plan keeps most of an op's results (by bytes) from its first run until
 * `beforeOp` first runs. The majority decides, because PyTorch saves either all results of an op or none.
 */
function holdsOps(plan: Plan, trace: Trace): (op: OpIndex, beforeOp: number) => boolean {
  /** For each output of an op, how many ops had run when the output was first freed, not counting repeated runs. */
  const goneBefore = new Map<number, number>();
  let next = 0;
  for (const { op, isRecomputed, free } of plan.steps) {
    if (!isRecomputed) next = op + 1;
    for (const value of free) {
      if ("source" in value) continue;
      const key = value.op * maxOutputs + value.output;
      if (!goneBefore.has(key)) goneBefore.set(key, next);
    }
  }
  return (op, beforeOp) => {
    const ownStorages = new Set(freshStorages(trace, op));
    let held = 0;
    let made = 0;
    trace.opOutputs(op).forEach((tensor, output) => {
      // If outputs share a storage, the plan names the first.
      const bytes = trace
        .tensorStorages(tensor)
        .reduce((sum, storage) => (ownStorages.delete(storage) ? sum + itemAt(trace.storages.bytes, storage) : sum), 0);
      made += bytes;
      if ((goneBefore.get(op * maxOutputs + output) ?? Number.POSITIVE_INFINITY) > beforeOp) held += bytes;
    });
    return held > 0 && 2 * held >= made;
  };
}

/** No op has more outputs, so a pair of numbers fits into one key. */
const maxOutputs = 1 << 20;

function freshStorages(trace: Trace, op: OpIndex): number[] {
  const read = new Set(Array.from(trace.opInputs(op)).flatMap((tensor) => trace.tensorStorages(tensor)));
  return Array.from(trace.opOutputs(op))
    .flatMap((tensor) => trace.tensorStorages(tensor))
    .filter((storage) => !read.has(storage));
}

function policiesOf(
  trace: Trace,
  fqn: string,
  {
    opsOf,
    isHeld,
  }: {
    readonly opsOf: readonly (readonly number[])[];
    isHeld(op: OpIndex, beforeOp: number): boolean;
  },
): PyTorchOpPolicy[] {
  const { ops, calls, modules } = trace;
  const firstBackward = new Map<number, number>();
  for (let op = 0; op < ops.count; op++)
    if (ops.phase[op] === Phase.backward)
      for (const call of trace.opCalls(op)) if (!firstBackward.has(call)) firstBackward.set(call, op);
  const saved = new Map<string, boolean>();
  let longest: readonly (readonly [key: string, op: string, ordinal: number])[] = [];
  for (const [call, all] of opsOf.entries()) {
    if (itemAt(modules, itemAt(calls.module, call)).fqn !== fqn) continue;
    const list = all.filter((op) => !unasked.has(trace.opName(op)));
    const written = new Set(
      list.flatMap((op) => Array.from(trace.opWrites(op)).flatMap((tensor) => trace.tensorStorages(tensor))),
    );
    const count = new Map<string, number>();
    const keys = list.map((op) => {
      const name = trace.opName(op);
      const ordinal = count.get(name) ?? 0;
      count.set(name, ordinal + 1);
      const key = `${name} ${ordinal}`;
      const fresh = freshStorages(trace, op);
      const canSave = fresh.length > 0 && !fresh.some((storage) => written.has(storage));
      const isSaved = canSave && isHeld(op, firstBackward.get(call) ?? ops.count);
      saved.set(key, isSaved && (saved.get(key) ?? true));
      return [key, name, ordinal] as const;
    });
    if (keys.length > longest.length) longest = keys;
  }
  return longest.map(([key, op, ordinal]) => ({
    op,
    ordinal,
    policy: saved.get(key) === true ? "MUST_SAVE" : "PREFER_RECOMPUTE",
  }));
}

function policyError(message: string): RematError {
  return new RematError("PYTORCH_POLICY", `PyTorch policy: ${message}.`);
}
