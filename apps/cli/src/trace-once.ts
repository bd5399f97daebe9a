import { type HeldPeak, heldPeak } from "@remat/memory";
import type { Trace } from "@remat/trace";
import type { StepVariant } from "@remat/tracer";
import { resolveStep } from "@remat/tracer/step";
import { loadModel } from "./load-model.js";
import type { ModelOptions } from "./model-options.js";
import type { ModelSource } from "./model-source.js";
import { withModulesNumbered } from "./number-modules.js";
import type { Progress } from "./progress.js";
import { growYoungGenerationIfLarge } from "./tune-v8.js";

/** Number of traces to keep, since several strategies and devices of `remat fit` need the same steps. */
const mostKept = 12;

/** A model and results of its steps. */
interface KnownSteps {
  /** Factories, by the files that belong to the model. */
  readonly models: Map<string, unknown>;
  /** The latest traces, oldest first. */
  readonly traces: Map<string, Trace>;
  /** Peaks with early release. */
  readonly released: Map<string, HeldPeak>;
  /** Steps that the command will need, by the model that takes them. */
  readonly expected: Map<string, WantedStep[]>;
}

/** A step that a command needs. */
export interface WantedStep {
  readonly options: ModelOptions;
  /** Set for the memory of the step with early release. */
  readonly released?: { readonly updateInBackward: boolean };
}

/** Keyed by the source. A command makes it once, so that nothing outlives the command. */
const known = new WeakMap<ModelSource, KnownSteps>();

function knownOf(source: ModelSource): KnownSteps {
  let steps = known.get(source);
  if (steps === undefined)
    known.set(source, (steps = { models: new Map(), traces: new Map(), released: new Map(), expected: new Map() }));
  return steps;
}

/** Returns the model of a source. It is loaded at most once, however many of its steps are traced. */
export async function modelOf(source: ModelSource<"model">, { data, layers }: ModelOptions): Promise<unknown> {
  const { models } = knownOf(source);
  const key = JSON.stringify([data, layers]);
  if (!models.has(key)) models.set(key, await loadModel({ ...source, data, layers }));
  return models.get(key);
}

/** Fields that are left out and undefined ones are the same, and so is the default backend by its name. */
function keyOf({ request, data, layers }: ModelOptions, ...more: readonly unknown[]): string {
  const { backend } = resolveStep(request);
  const fields = Object.entries({ ...request, backend }).filter(([, value]) => value !== undefined);
  return JSON.stringify([fields.sort(([a], [b]) => (a < b ? -1 : 1)), data, layers, ...more]);
}

/**
 * Returns the trace of a step of a model. Parts of a command that need the same step share one trace, because tracing
 * takes longer than everything else.
 */
export async function traceOnce(
  source: ModelSource<"model">,
  options: ModelOptions,
  progress: Pick<Progress, "show">,
): Promise<Trace> {
  const { traces } = knownOf(source);
  const key = keyOf(options);
  const trace = knownTrace(traces, options) ?? withModulesNumbered(await traced(source, options, progress));
  keepTrace(traces, key, trace);
  return trace;
}

/** Keeps a trace as the latest one. */
function keepTrace(traces: Map<string, Trace>, key: string, trace: Trace): void {
  traces.delete(key);
  traces.set(key, trace);
  if (traces.size > mostKept) traces.delete(traces.keys().next().value!);
}

function knownTrace(traces: ReadonlyMap<string, Trace>, options: ModelOptions): Trace | undefined {
  const trace = traces.get(keyOf(options));
  if (trace !== undefined || options.request.checkpointing !== "free") return trace;
  const { checkpointing: _, ...request } = options.request;
  const given = traces.get(keyOf({ ...options, request }));
  // A model without checkpointed blocks takes the same step either way.
  return given?.scopes.some(({ checkpoint }) => checkpoint !== undefined) === false ? given : undefined;
}

/**
 * Announces steps that a command will need. When the first of them is traced, the others that differ only in the way it
 * is taken are traced as well, and the model is built once for all of them.
 */
export function expectSteps(source: ModelSource, steps: readonly WantedStep[]): void {
  const { expected } = knownOf(source);
  for (const step of steps) {
    if (step.options.request.predict === true) continue;
    const key = keyOfModel(step.options);
    expected.set(key, [...(expected.get(key) ?? []), step]);
  }
}

/** The same for all steps that `traceFakeSteps` can take of one model. */
function keyOfModel({ request, ...files }: ModelOptions): string {
  const { checkpointing: _, fasterGradients: __, ...same } = request;
  return keyOf({ request: same, ...files });
}

/** Traces a step, together with the expected ones. */
async function traced(
  source: ModelSource<"model">,
  options: ModelOptions,
  progress: Pick<Progress, "show">,
): Promise<Trace> {
  const { name } = source;
  const { traces, released, expected } = knownOf(source);
  const key = keyOf(options);
  const others = (expected.get(keyOfModel(options)) ?? []).filter(
    (step) => step.released !== undefined || keyOf(step.options) !== key,
  );
  expected.delete(keyOfModel(options));
  const { traceFakeSteps } = await import("@remat/tracer");
  const model = await modelOf(source, options);
  progress.show(`tracing ${name}`, true);
  const variants = [variantOf({ options }), ...others.map(variantOf)];
  const [trace, ...more] = await traceFakeSteps(
    model,
    { ...options.request, name, onProgress: (module) => told(`tracing ${name}: ${module}`, progress) },
    await Promise.all(variants),
  );
  for (const [i, step] of others.entries())
    if (step.released === undefined) keepTrace(traces, keyOf(step.options), withModulesNumbered(more[i]));
    else released.set(keyOf(step.options, step.released.updateInBackward), heldPeak(more[i]));
  return trace;
}

function told(text: string, progress: Pick<Progress, "show">): void {
  progress.show(text);
  growYoungGenerationIfLarge();
}

async function variantOf({ options: { request }, released }: WantedStep): Promise<StepVariant> {
  const { checkpointing, fasterGradients } = request;
  const open = released && (await import("@remat/checkpoint/predict")).releasedVariant(released).open;
  return { checkpointing, fasterGradients, ...(open && { open }) };
}

/** Returns the memory of a step of a model with early release. The step is also traced at most once. */
export async function releasedOnce(
  source: ModelSource<"model">,
  options: ModelOptions,
  updateInBackward: boolean,
  progress: Pick<Progress, "show">,
): Promise<HeldPeak> {
  const { released } = knownOf(source);
  const key = keyOf(options, updateInBackward);
  const peak = released.get(key) ?? heldPeak(await traceReleased(source, options, updateInBackward, progress));
  released.set(key, peak);
  return peak;
}

/**
 * Traces a step of a model with early release. Another trace cannot replace this one, because early release reads the
 * tape, and which tensors JavaScript still references.
 */
export async function traceReleased(
  source: ModelSource<"model">,
  options: ModelOptions,
  updateInBackward: boolean,
  progress: Pick<Progress, "show">,
): Promise<Trace> {
  const { traceReleasedStep } = await import("@remat/checkpoint/predict");
  const model = await modelOf(source, options);
  const what = `tracing ${source.name} with early release`;
  progress.show(what, true);
  return traceReleasedStep(
    model,
    { ...options.request, name: source.name, onProgress: (module) => told(`${what}: ${module}`, progress) },
    { updateInBackward },
  );
}
