import { type CloseMode, openDispatchMode } from "@remat/dispatch-hook";
import { fakeMode } from "@remat/dispatch-hook/fake";
import { isForwardModule, ModTracker } from "@remat/mod-tracker";
import { Category, type Trace, type TraceHeader } from "@remat/trace";
import { memory, type Tensor, version_core } from "@tensorflow/tfjs-core";
import { version_layers } from "@tensorflow/tfjs-layers";
import { decideCheckpointing } from "./decide-checkpointing.js";
import { heldInitialValues } from "./initial-values.js";
import { batchOf, type MoveFn, type ScopeFn } from "./model-definition.js";
import { TraceRecorder } from "./recorder/trace-recorder.js";
import { takesSameForward } from "./same-forward.js";
import { SeededRandom } from "./seeded-random.js";
import { resolveStep, type StepRequest, settingsOf } from "./step-spec.js";
import { prepareStepWith, type TrainingStep } from "./training-step.js";

/** Options of `traceStep` and `traceFakeStep`. */
export interface TraceStepOptions extends StepRequest {
  /** Name of the model, if it has none of its own. */
  readonly name?: string | undefined;
  /** Additional fields of the trace's header. */
  readonly header?: Partial<TraceHeader>;
  /**
   * Called before the first step with the recorder, to read the trace while it grows (`trackLive` of
   * `@remat/memory/tracker`).
   */
  readonly onStart?: (recorder: TraceRecorder) => void;
  /** Called with a module's name when its forward pass begins. */
  readonly onProgress?: (module: string) => void;
}

/** One of the ways to take a step that `traceFakeSteps` traces. */
export interface StepVariant extends Pick<StepRequest, "checkpointing" | "fasterGradients"> {
  /** Opens a dispatch mode for this step, such as early release, and returns a function that ends it. */
  readonly open?: () => CloseMode;
}

/**
 * Builds a model and traces a training step of it without data. Shapes, storages and saved tensors are those of a real
 * step on `backend`, but no memory is allocated. Recomputation by the model itself is part of the trace, unless
 * `checkpointing` is `free`.
 *
 * @param exported export of a model module (see `examples/README.md`): a function that makes a model, or a LayersModel
 * @throws RematError `MODEL_EXPORT`, `MODEL_NOT_TRAINABLE`, `LOSS_UNKNOWN`, `OPTIMIZER_UNKNOWN`
 * @throws DataDependentError if the model reads values
 * @example
 * const trace = await traceFakeStep(({ tf, batch = 8 }) => tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [4] })] }));
 */
export async function traceFakeStep(exported: unknown, options: TraceStepOptions = {}): Promise<Trace> {
  return fakeMode(() => traceStep(exported, options), { backend: resolveStep(options).backend });
}

/**
 * Traces a step in several ways. Each trace is the one that `traceFakeStep` makes with the options of the variant, but
 * the model is built once, and the steps before the recorded one are taken once. If the steps of a model differ from
 * each other, it is built again for each variant.
 *
 * @throws as `traceFakeStep`
 * @example
 * const [trace, planned] = await traceFakeSteps(build, { optimizer: "adam" }, [{}, stepToPlan]);
 */
export async function traceFakeSteps(
  exported: unknown,
  options: TraceStepOptions,
  variants: readonly StepVariant[],
): Promise<readonly Trace[]> {
  const { backend } = resolveStep(options);
  const traces = [...(await fakeMode(() => traceVariants(exported, options, variants), { backend }))];
  for (const variant of variants.slice(traces.length))
    traces.push(...(await fakeMode(() => traceVariants(exported, options, [variant]), { backend })));
  return traces;
}

/**
 * Traces a real step on the current backend, otherwise like {@link traceFakeStep}. Weights and inputs are real, and are
 * disposed of afterwards.
 */
export async function traceStep(exported: unknown, options: TraceStepOptions = {}): Promise<Trace> {
  const [trace] = await traceVariants(exported, options, [{}]);
  return trace;
}

/** A step that is ready to be recorded, several times. */
interface StepToRecord {
  readonly step: TrainingStep;
  readonly options: TraceStepOptions;
  /** The tracker of the running step. The model is built before there is one. */
  readonly tracking: { by?: ModTracker | undefined };
  /** Initial values of variables that other code still references. */
  readonly initial: readonly Tensor[];
}

/** Traces as many of the variants as take the same step of one model, which is at least the first one. */
async function traceVariants(
  exported: unknown,
  options: TraceStepOptions,
  variants: readonly StepVariant[],
): Promise<readonly Trace[]> {
  const tracking: StepToRecord["tracking"] = {};
  /** Scopes during the build only run their function. */
  const scope: ScopeFn = (name, fn) => (tracking.by === undefined ? fn() : tracking.by.scope(name, fn));
  const moveTo: MoveFn = (path, kind) => tracking.by?.moveTo(path, kind);
  const random = new SeededRandom(resolveStep(options).seed);
  const step = await prepareStepWith(random, exported, { ...options, scope, moveTo });
  const initial: Tensor[] = [];
  const traces: Trace[] = [];
  try {
    if (step.optimizer !== undefined) initial.push(...heldInitialValues(step.definition));
    // The first update separates the variables from initial values that other code references. Later steps are typical.
    const stepsBefore = Math.max(step.spec.stepsBefore, initial.length > 0 ? 1 : 0);
    let rewind = (): void => {};
    let before = memory();
    for (const variant of variants) {
      rewind();
      const trace = await recordStep({ step, options: { ...options, ...variant }, tracking, initial }, variant, {
        stepsBefore: traces.length === 0 ? stepsBefore : 0,
        onStart() {
          if (traces.length > 0) return;
          rewind = random.mark();
          before = memory();
        },
      });
      if (traces.length > 0 && !takesSameForward(traces[0], trace)) break;
      traces.push(trace);
      const { numTensors, numBytes } = memory();
      if (numTensors !== before.numTensors || numBytes !== before.numBytes) break;
    }
    return traces;
  } finally {
    for (const tensor of initial) tensor.dispose();
    step.dispose();
  }
}

/** Takes the steps of a variant, and records them. */
async function recordStep(
  { step, options, tracking, initial }: StepToRecord,
  { open }: StepVariant,
  { stepsBefore, onStart }: { readonly stepsBefore: number; onStart(): void },
): Promise<Trace> {
  const { name, definition, notes, optimizer } = step;
  const { fasterGradients } = options;
  const { checkpointing = "given" } = options;
  const spec = { ...step.spec, checkpointing };
  let tracker: ModTracker | undefined;
  const stopVariant = open?.();
  const stopDeciding = decideCheckpointing(spec);
  const stopReplacing = fasterGradients === undefined ? () => {} : openDispatchMode({ fasterGradients });
  try {
    const recorder = new TraceRecorder({
      header: {
        libraries: { "@tensorflow/tfjs-core": version_core, "@tensorflow/tfjs-layers": version_layers },
        allocationUnitBytes: spec.allocationUnitBytes,
        ...options.header,
        model: name,
        step: settingsOf(spec),
        notes: [...notes, ...(options.header?.notes ?? [])],
      },
    });
    tracker = new ModTracker({ recorder });
    tracking.by = tracker;
    // A dot in the root's name (`mobilenet_1.00_224`) would look like a nested module.
    if (definition.model !== undefined)
      tracker.track(definition.model, { name: name.replaceAll(".", "_"), grouping: spec.grouping });
    else if (isForwardModule(definition)) tracker.track(definition, { name: name.replaceAll(".", "_") });
    tracker.own(definition.parameters ?? {}, definition.buffers ?? {});
    const { onProgress } = options;
    if (onProgress !== undefined) tracker.registerUserHooks({ preForward: ({ fqn }) => onProgress(fqn) });
    if (optimizer !== undefined) tracker.trackOptimizer(optimizer);
    for (let i = 0; i < stepsBefore; i++)
      if (step.takeAsync === undefined) step.take();
      else await step.takeAsync();
    onStart();
    options.onStart?.(recorder);
    // One run for all steps: between runs the hook sees nothing, and would take everything it finds for new.
    const take = (): void | Promise<void> => {
      // These tensors exist from the start, even if they are first read later: targets after the forward pass,
      // optimizer state in the update.
      for (const tensor of batchOf(definition)) recorder.categorizeTensor(tensor, Category.input);
      for (const variable of Object.values(definition.parameters ?? {}))
        recorder.categorizeTensor(variable, Category.parameter);
      for (const tensor of Object.values(definition.buffers ?? {})) recorder.categorizeTensor(tensor, Category.buffer);
      if (optimizer !== undefined) tracker?.trackOptimizer(optimizer);
      for (const tensor of initial) recorder.categorizeTensor(tensor, Category.other);
      if (step.takeAsync !== undefined) return takeInTurn(step.takeAsync, spec.steps);
      for (let i = 0; i < spec.steps; i++) step.take();
    };
    await tracker.run(take);
    return recorder.trace();
  } finally {
    stopReplacing();
    stopDeciding();
    tracker?.close();
    stopVariant?.();
  }
}

async function takeInTurn(take: () => Promise<void>, times: number): Promise<void> {
  for (let i = 0; i < times; i++) await take();
}
