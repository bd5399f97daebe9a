import type { CheckpointedUnit } from "@remat/memory/checkpointing";
import { attentionNames } from "@remat/runtime-estimator/aten";
import type { ModuleIndex, Trace } from "@remat/trace";
import { type PythonCode, python } from "@remat/trace/emit";
import { CheckpointedRun, refuseParts } from "./checkpointed-run.js";
import { matchModules, rootModule } from "./match-modules.js";
import { parameterGroups } from "./parameter-groups.js";
import { prefetchedUnits } from "./prefetches.js";
import { type ShardedUnit, shardedUnits } from "./sharded-units.js";
import { checkShardingPlan, type GroupPolicy, planError, type ShardingPlan } from "./sharding-plan.js";
import { usualWrap } from "./usual-wrap.js";

/**
 * Rejects models that are not PyTorch modules. The memory of their ranks can be estimated, but they cannot be sharded.
 *
 * @throws RematError `SHARDING_PLAN`
 * @example
 * requireFullyShardable(trace.header.framework, "net");
 */
export function requireFullyShardable(framework: string, name: string): void {
  if (framework !== "pytorch")
    throw planError(
      `${name} is a TensorFlow.js model, and fully_shard is for PyTorch only. Remove --fsdp-code and --apply to see the estimate for a rank.`,
    );
}

/**
 * Returns a sharding plan as Python code: a function `shard(model)` that calls PyTorch's `fully_shard` for the modules
 * of a run by name.
 *
 * @throws RematError `SHARDING_PLAN`
 * @example
 * fullyShardCode(trace, parseShardingPlan("world=8,bf16"));
 */
export function fullyShardCode(trace: Trace, given: ShardingPlan): PythonCode {
  requireFullyShardable(trace.header.framework, trace.header.model ?? "the model");
  checkShardingPlan(given);
  refuseParts(given.checkpoint);
  if (given.strategy !== undefined) throw planError(`${given.strategy} does not use fully_shard. Use an FSDP plan.`);
  const plan = { ...given, wrap: given.wrap ?? usualWrap(trace) };
  const root = rootModule(trace);
  const units = shardedUnits(trace, plan, root);
  // This call throws for groups that PyTorch refuses, for which there is no code.
  parameterGroups(trace, plan, root, units);
  const at = (module: ModuleIndex): PythonCode =>
    module === root
      ? python`model`
      : python`model.get_submodule(${python.string(withoutRoot(trace, root, trace.modules[module].fqn))})`;
  const ofUnit = ({ modules }: ShardedUnit): PythonCode =>
    modules.length === 1 ? at(modules[0]) : python`[${python.list(modules.map(at))}]`;
  // PyTorch requires inner modules before outer ones, and the root last.
  const depth = ({ modules }: ShardedUnit): number =>
    modules[0] === root ? 0 : trace.modules[modules[0]].fqn.split(".").length;
  const ordered = [...units].sort((a, b) => depth(b) - depth(a) || a.modules[0] - b.modules[0]);
  const ignored = matchModules(trace, root, plan.ignored ?? []);
  const common = [
    python`mesh=mesh`,
    ...(plan.cpuOffload === true ? [python`offload_policy=CPUOffloadPolicy()`] : []),
    ...(ignored.length > 0 ? [python`ignored_params=ignored`] : []),
  ];
  const calls = ordered.map(
    (unit) => python`fully_shard(${python.list([ofUnit(unit), ...common, ...policyArguments(unit.policy)])})`,
  );
  const lists = (prefetch: "forward" | "backward"): PythonCode[] =>
    [...prefetchedUnits(trace, plan, root, units, prefetch)].flatMap(([unit, targets]) =>
      units[unit].modules.map((module) => {
        const modules = python.list(targets.map((target) => at(units[target].modules[0])));
        return prefetch === "forward"
          ? python`${at(module)}.set_modules_to_forward_prefetch([${modules}])`
          : python`${at(module)}.set_modules_to_backward_prefetch([${modules}])`;
      }),
    );
  const { worldSize, replicas = 1 } = plan;
  const mesh =
    replicas === 1
      ? python`init_device_mesh("cuda", (${worldSize},))`
      : python`init_device_mesh("cuda", (${replicas}, ${worldSize / replicas}), mesh_dim_names=("replicate", "shard"))`;
  const checkpoints = checkpointCalls(trace, root, plan);
  const body = [
    ...checkpoints,
    python`mesh = ${mesh}`,
    ...(ignored.length > 0
      ? [
          python.comment(
            "An optimizer with foreach=True takes no plain parameters beside sharded ones: give it these as a group of their own.",
          ),
          python`ignored = {p for m in (${python.list(ignored.map(at))},) for p in m.parameters()}`,
        ]
      : []),
    ...calls,
    ...lists("forward"),
    ...lists("backward"),
    ...(plan.reshardAfterBackward === false ? [python`model.set_reshard_after_backward(False)`] : []),
    ...matchModules(trace, root, plan.keptShardedInBackward ?? []).map(
      (module) => python`${at(module)}.set_unshard_in_backward(False)`,
    ),
    ...(plan.gradientSync === "last"
      ? [python.comment("Before each backward pass of a step: model.set_requires_gradient_sync(it is the last)")]
      : []),
    python`return model`,
  ];
  const usesPrecision = calls.some((call) => call.includes("MixedPrecisionPolicy"));
  const names = [
    ...(plan.cpuOffload === true ? [python`CPUOffloadPolicy`] : []),
    ...(usesPrecision ? [python`MixedPrecisionPolicy`] : []),
    python`fully_shard`,
  ];
  const isSelective = checkpoints.some((call) => call.includes("context_fn=saving("));
  return python.lines([
    ...(isSelective ? [python`from collections import Counter`, python``] : []),
    ...(usesPrecision ? [python`import torch`] : []),
    ...(checkpoints.length > 0
      ? [python`from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper`]
      : []),
    python`from torch.distributed.device_mesh import init_device_mesh`,
    python`from torch.distributed.fsdp import ${python.list(names)}`,
    ...(isSelective
      ? [python`from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts`]
      : []),
    python`\n`,
    ...(isSelective ? [savingFunction, python`\n`] : []),
    python`def shard(model):`,
    python.lines(body, 4),
    python``,
  ]);
}

/**
 * Returns the calls that wrap modules for checkpointing, inner modules before outer ones. `fully_shard` then shards the
 * wrappers.
 */
function checkpointCalls(trace: Trace, root: number, plan: ShardingPlan): readonly PythonCode[] {
  const { checkpoint } = plan;
  if (checkpoint === undefined) return [];
  const { run } = new CheckpointedRun(trace).forPlan(plan);
  const depth = ({ fqn }: CheckpointedUnit): number => fqn.split(".").length;
  return [...run.unitsOf(checkpoint)]
    .sort((a, b) => depth(b) - depth(a))
    .map((unit) => {
      // A rule saves attention whichever kernel runs.
      const saved = [...new Set(run.savedNames(unit).flatMap(attentionNames))].map(python.string);
      const context = saved.length === 0 ? python`` : python`, context_fn=saving(${python.list(saved)})`;
      if (unit.fqn === trace.modules[root].fqn) return python`model = checkpoint_wrapper(model${context})`;
      const name = python.string(withoutRoot(trace, root, unit.fqn));
      return python`model.set_submodule(${name}, checkpoint_wrapper(model.get_submodule(${name})${context}))`;
    });
}

const savingFunction: PythonCode = python`def saving(*names):
    def contexts():
        counts = {False: Counter(), True: Counter()}

        def policy(ctx, op, *args, **kwargs):
            name = str(op)
            ordinal = counts[ctx.is_recompute][name]
            counts[ctx.is_recompute][name] += 1
            is_saved = name in names or f"{name}#{ordinal}" in names
            return CheckpointPolicy.MUST_SAVE if is_saved else CheckpointPolicy.PREFER_RECOMPUTE

        return create_selective_checkpoint_contexts(policy)

    return contexts`;

function policyArguments({ reshardAfterForward, mixedPrecision = {} }: GroupPolicy): readonly PythonCode[] {
  const { param, reduce, output } = mixedPrecision;
  const precision = [
    ...(param === undefined ? [] : [python`param_dtype=torch.${python.identifier(param)}`]),
    ...(reduce === undefined ? [] : [python`reduce_dtype=torch.${python.identifier(reduce)}`]),
    ...(output === undefined ? [] : [python`output_dtype=torch.${python.identifier(output)}`]),
  ];
  return [
    ...(reshardAfterForward === undefined ? [] : [python`reshard_after_forward=${reshardAfterForward}`]),
    ...(precision.length === 0 ? [] : [python`mp_policy=MixedPrecisionPolicy(${python.list(precision)})`]),
  ];
}

function withoutRoot(trace: Trace, root: number, fqn: string): string {
  const prefix = `${trace.modules[root].fqn}.`;
  return fqn.startsWith(prefix) ? fqn.slice(prefix.length) : fqn;
}
