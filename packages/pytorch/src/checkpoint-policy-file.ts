import {
  type CallIndex,
  EventKind,
  forwardOpsByCall,
  itemAt,
  type ModuleIndex,
  type OpIndex,
  Phase,
  row,
  type Trace,
} from "@remat/trace";
import { type JsonText, json } from "@remat/trace/emit";

/**
 * The format version of files with the modules that run under `torch.utils.checkpoint`. The exporter rejects unknown
 * versions.
 */
const checkpointPolicyFormat = "remat-pytorch-policy/4";

/** How `remat.apply` treats a module, and the properties by which it recognizes that module. */
export interface CheckpointedModule {
  /** The class of the module. */
  readonly type: string;
  /** The shapes of its weights, including those of inner modules. */
  readonly parameters: readonly (readonly number[])[];
  /**
   * The ops whose results are saved. `ordinal` is the number of earlier ops of that name in the same call. If empty,
   * the module is recomputed as a whole.
   */
  readonly save: readonly { readonly op: string; readonly ordinal: number }[];
  /**
   * If given, only these parts of each call are recomputed. A part is a range of positions among the ops that the call
   * dispatches, and its end is exclusive. The results of the ops at `kept` are kept.
   */
  readonly parts?: readonly (readonly [begin: number, end: number, kept?: readonly number[]])[];
  /**
   * The number of ops that a call dispatched when it was recorded. Positions of parts refer to these ops. Left out if
   * calls differ.
   */
  readonly ops?: number;
  /**
   * The names of the ops that a call dispatched up to the end of its last part, as positions in `names`. Left out if
   * calls differ. A call that dispatches other ops runs without parts.
   */
  readonly path?: readonly number[];
  /** The op names to which `path` refers. */
  readonly names?: readonly string[];
}

/** The modules of a model that run under `torch.utils.checkpoint`. */
export interface CheckpointPolicyFile {
  readonly format: typeof checkpointPolicyFormat;
  readonly model: string;
  /** The PyTorch version with which the step was recorded. */
  readonly torch: string;
  /** The number of modules of the model. Left out if the trace does not have it. */
  readonly moduleCount?: number;
  /** The modules by name within the model, as in `model.named_modules()`. The model itself is `""`. */
  readonly modules: Readonly<Record<string, CheckpointedModule>>;
}

/**
 * Returns the result of `planTorchCheckpoints` of `@remat/planner` as a file for `remat.apply`.
 *
 * @param trace the planned trace
 * @param policy modules with their names in the trace, and the positions of saved ops among the forward ops of a call
 * @example
 * toCheckpointPolicyFile(trace, planTorchCheckpoints(trace, { budget: { fraction: 0.6 } }).found.policy);
 */
export function toCheckpointPolicyFile(
  trace: Trace,
  policy: readonly {
    readonly fqn: string;
    readonly saved: readonly number[];
    readonly ops?: readonly [begin: number, end: number, kept?: readonly number[]];
  }[],
): CheckpointPolicyFile {
  const { header, modules, calls } = trace;
  const opsOf = forwardOpsByCall(trace);
  const saving = savingCalls(trace);
  const parts = new Map<string, (readonly [number, number, (readonly number[])?])[]>();
  for (const { fqn, ops } of policy) if (ops !== undefined) parts.set(fqn, [...(parts.get(fqn) ?? []), ops]);
  const entries = policy.map(({ fqn, saved }): [string, CheckpointedModule] => {
    const module = modules.findIndex((one) => one.fqn === fqn);
    const partsOfModule = parts.get(fqn);
    const ofModule = [...opsOf.keys()].filter((one) => calls.module[one] === module);
    // A call without gradients dispatches other ops. In inference mode, dropout is one op.
    const call = ofModule.find((one) => saving.has(one)) ?? ofModule[0];
    const dot = fqn.indexOf(".");
    return [
      dot < 0 ? "" : fqn.slice(dot + 1),
      {
        type: itemAt(modules, module).kind,
        parameters: weightShapes(trace, module),
        save: opsAt(trace, (call === undefined ? undefined : opsOf[call]) ?? [], saved),
        ...(partsOfModule !== undefined && {
          parts: partsOfModule.toSorted((a, b) => a[0] - b[0]),
          ...opsOfEachCall(
            trace,
            ofModule.map((one) => itemAt(opsOf, one)),
            Math.max(...partsOfModule.map(([, end]) => end)),
          ),
        }),
      },
    ];
  });
  return {
    format: checkpointPolicyFormat,
    model: header.model ?? "model",
    torch: header.frameworkVersion ?? "",
    ...(header.moduleCount !== undefined && { moduleCount: header.moduleCount }),
    modules: Object.fromEntries(entries),
  };
}

/**
 * Returns a policy as JSON with one module per line, which is readable and works with `diff`.
 *
 * @example
 * await fs.writeFile("policy.json", writeCheckpointPolicyFile(toCheckpointPolicyFile(trace, policy)));
 */
export function writeCheckpointPolicyFile({ modules, ...head }: CheckpointPolicyFile): JsonText {
  const lines = Object.entries(modules).map(([name, module]) => json`    ${json.value(name)}: ${json.value(module)}`);
  return json.lines([
    json`{`,
    ...Object.entries(head).map(([key, value]) => json`  ${json.value(key)}: ${json.value(value)},`),
    lines.length === 0 ? json`  "modules": {}` : json`  "modules": {\n${json.join(lines, ",\n")}\n  }`,
    json`}`,
    json``,
  ]);
}

/** Returns the forward calls in which autograd saves tensors. */
function savingCalls({ events, moduleEvents }: Trace): ReadonlySet<CallIndex> {
  const saving = new Set<CallIndex>();
  const active: CallIndex[] = [];
  for (let event = 0; event < events.count; event++) {
    const kind = itemAt(events.kind, event);
    const item = itemAt(events.subject, event);
    if (kind === EventKind.save) for (const call of active) saving.add(call);
    if (kind !== EventKind.enterModule && kind !== EventKind.exitModule) continue;
    if (moduleEvents.phase[item] !== Phase.forward) continue;
    const call = itemAt(moduleEvents.call, item);
    if (kind === EventKind.enterModule) active.push(call);
    else active.splice(active.lastIndexOf(call), 1);
  }
  return saving;
}

function weightShapes(trace: Trace, module: ModuleIndex): number[][] {
  const { weights } = trace;
  const at = weights.module.lastIndexOf(module);
  return at < 0 ? [] : Array.from(row(weights.parameters, at), (tensor) => [...trace.tensorShape(tensor)]);
}

/**
 * Returns the number of ops that each call dispatches, if it is the same for all calls. Also returns the ops up to
 * `end`, if they are the same for all calls.
 */
function opsOfEachCall(
  trace: Trace,
  opsOf: readonly (readonly number[])[],
  end: number,
): Pick<CheckpointedModule, "ops" | "path" | "names"> {
  const [first, ...others] = opsOf.filter((ops) => ops.length > 0).map((ops) => ops.map((op) => trace.opName(op)));
  if (first === undefined) return {};
  const isOneCount = others.every(({ length }) => length === first.length);
  const path = first.slice(0, end);
  if (others.some((other) => path.some((name, place) => other[place] !== name)))
    return isOneCount ? { ops: first.length } : {};
  const names = [...new Set(path)];
  return { ...(isOneCount && { ops: first.length }), path: path.map((name) => names.indexOf(name)), names };
}

function opsAt(trace: Trace, ops: readonly OpIndex[], places: readonly number[]): { op: string; ordinal: number }[] {
  const wanted = new Set(places);
  const count = new Map<string, number>();
  const found: { op: string; ordinal: number }[] = [];
  for (const [place, op] of ops.entries()) {
    const name = trace.opName(op);
    const ordinal = count.get(name) ?? 0;
    count.set(name, ordinal + 1);
    if (wanted.has(place)) found.push({ op: name, ordinal });
  }
  return found;
}
