import { forwardOpsByCall, type ModuleIndex, type OpIndex, row, type Trace } from "@remat/trace";
import { type JsonText, json } from "@remat/trace/emit";

/** Version of files that say which modules run under `torch.utils.checkpoint`; the exporter refuses versions that it does not know. */
export const checkpointPolicyFormat = "remat-pytorch-policy/4";

/** What `remat.apply` does with a module, and by what it knows that it is the one that was planned. */
export interface CheckpointedModule {
  /** Its class. */
  readonly type: string;
  /** Shapes of its weights, those of the modules in it included. */
  readonly parameters: readonly (readonly number[])[];
  /** The ops whose results are saved: by name, and how many of that name ran before in the same call. None: it is recomputed as a whole. */
  readonly save: readonly { readonly op: string; readonly ordinal: number }[];
  /** If given, only these parts of each call are recomputed: places among the ops that it dispatches, from the first to the one after the last. The ops at `kept` are not: their results are held. */
  readonly parts?: readonly (readonly [begin: number, end: number, kept?: readonly number[]])[];
  /** How many ops a call dispatched when it was recorded, among which the places of parts are; left out where calls differ. */
  readonly ops?: number;
  /** The names of the ops that a call dispatched up to the end of its last part, as places in `names`; left out where calls differ. A call that dispatches others runs without parts. */
  readonly path?: readonly number[];
  readonly names?: readonly string[];
}

/** Which modules of a model run under `torch.utils.checkpoint`. */
export interface CheckpointPolicyFile {
  readonly format: typeof checkpointPolicyFormat;
  readonly model: string;
  /** The PyTorch that the step was recorded with. */
  readonly torch: string;
  /** How many modules that model has; left out where the trace does not know. */
  readonly moduleCount?: number;
  /** By name within the model, as `model.named_modules()` has it; the model itself is `""`. */
  readonly modules: Readonly<Record<string, CheckpointedModule>>;
}

/**
 * Returns what `planTorchCheckpoints` of `@remat/planner` found as a file for `remat.apply`.
 *
 * @param trace the one that was planned
 * @param policy modules as the trace has them, with the places among the forward ops of a call of what is saved
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
  const parts = new Map<string, (readonly [number, number, (readonly number[])?])[]>();
  for (const { fqn, ops } of policy) if (ops !== undefined) parts.set(fqn, [...(parts.get(fqn) ?? []), ops]);
  const entries = policy.map(({ fqn, saved }): [string, CheckpointedModule] => {
    const module = modules.findIndex((one) => one.fqn === fqn);
    const call = calls.module.indexOf(module);
    const dot = fqn.indexOf(".");
    return [
      dot < 0 ? "" : fqn.slice(dot + 1),
      {
        type: modules[module].kind,
        parameters: weightShapes(trace, module),
        save: opsAt(trace, opsOf[call] ?? [], saved),
        ...(parts.has(fqn) && {
          parts: parts.get(fqn)!.toSorted((a, b) => a[0] - b[0]),
          ...opsOfEachCall(
            trace,
            opsOf.filter((_, one) => calls.module[one] === module),
            Math.max(...parts.get(fqn)!.map(([, end]) => end)),
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
 * Returns a policy as JSON with one module a line: readable, and comparable with `diff`.
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

function weightShapes(trace: Trace, module: ModuleIndex): number[][] {
  const { weights } = trace;
  const at = weights.module.lastIndexOf(module);
  return at < 0 ? [] : Array.from(row(weights.parameters, at), (tensor) => [...trace.tensorShape(tensor)]);
}

/** How many ops each call dispatches, if all dispatch as many, and the ops up to `end`, if all dispatch the same. */
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
