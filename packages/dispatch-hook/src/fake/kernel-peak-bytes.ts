import type { Tensor, TensorInfo } from "@tensorflow/tfjs-core";
import { type Backend, type BackendName, findBackend, isKnown, kernelsOfBackend } from "../backends/index.js";
import { kernelRules } from "../backends/kernel-rules.js";
import { sharedBuffers } from "../backends/shared-buffers.js";
import { engineInternals } from "../engine/index.js";
import { replacementOf } from "../gradients/replacement-of.js";
import { withModeAlone } from "../index.js";
import { allKernels, type Infer, type KernelAttributes, type KernelInputs } from "../kernels/index.js";
import { isElementwise } from "../kernels/kernel-properties.js";
import { DataDependentError } from "./data-dependent-error.js";
import { FakeBackend } from "./fake-backend.js";
import { FakeData } from "./fake-data.js";
import { fakeMode, fakeTensor } from "./fake-mode.js";
import { peakWithoutDevice } from "./kernel-without-device.js";
import { KnownCalls } from "./known-calls.js";

/** What a kernel allocates and frees, in order. */
type Allocations = { readonly data: FakeData; readonly isFreed: boolean }[];

/** A fake backend of which nobody else knows. */
interface Rehearsal {
  readonly rules: ReadonlyMap<string, Infer>;
  readonly fake: QuietBackend;
  /** Kernels that the backend composes of ops of tfjs, which need the engine. */
  readonly composed: Set<string>;
  readonly calls: KnownCalls;
}

/** Tells what it allocates to nobody but itself, and makes no tensors of the engine's. */
class QuietBackend extends FakeBackend {
  readonly allocations: Allocations = [];
  override dataWatcher: FakeBackend["dataWatcher"] = watcherOf(this.allocations);

  override tensorOf(): Tensor {
    throw new Error("this kernel is composed of ops of the engine");
  }
}

const rehearsals = new WeakMap<Backend, Rehearsal>();

/**
 * Returns the most bytes that a kernel will hold at once besides its inputs, told before it runs: the buffers of its outputs, of which views of inputs have none,
 * and its scratch; where other ops run in its place, theirs. Undefined for a kernel, or a backend, that fake mode does not know, or whose output shapes depend on values.
 *
 * @example
 * kernelPeakBytes("tensorflow", "MatMul", { a, b }, {}); // 4 × rows × columns
 */
export function kernelPeakBytes(
  backend: Backend | BackendName,
  kernel: string,
  inputs: KernelInputs,
  attributes: KernelAttributes | undefined,
): number | undefined {
  const standsFor = typeof backend === "string" ? findBackend(backend) : backend;
  if (isRunning(standsFor)) return peakWithoutDevice(standsFor, kernel, inputs, attributes);
  const rehearsal = rehearsalOn(standsFor);
  const infer = rehearsal?.rules.get(kernel);
  if (rehearsal === undefined || infer === undefined) return undefined;
  const { calls, composed } = rehearsal;
  const replacement = replacementOf(kernel, inputs, attributes);
  const known = calls.find(replacement === undefined ? kernel : `in place of ${kernel}`, inputs, attributes);
  if (known !== undefined) return known.bytes;
  let bytes: number | undefined | typeof needsEngine = needsEngine;
  if (replacement === undefined && !composed.has(kernel))
    bytes = plainPeakBytes(rehearsal, standsFor, kernel, inputs, attributes);
  if (bytes === needsEngine) {
    bytes = peakOfComposed(
      standsFor,
      kernel,
      replacement ?? ((given, on) => infer(given as never, (attributes ?? {}) as never, on)),
      inputs,
    );
    if (bytes !== undefined && replacement === undefined) composed.add(kernel);
  }
  calls.add(bytes);
  return bytes;
}

/** Whether it is the one that kernels run on now, and can be had without its device. */
function isRunning({ name, withoutDevice }: Backend): boolean {
  return withoutDevice !== undefined && engineInternals().backendName === name;
}

/**
 * Tells whether a kernel surely holds no more than `roomBytes` besides its inputs, at a hundredth of what it takes to tell how many: of one that computes element by element
 * and has no scratch, from the shapes of its inputs. False says nothing, as always of a backend whose kernels are in no table: textures are padded.
 *
 * @example
 * surelyFits("tensorflow", "Add", { a, b }, 1e9) || (kernelPeakBytes("tensorflow", "Add", { a, b }, {}) ?? 0) <= 1e9;
 */
export function surelyFits(
  backend: Backend | BackendName,
  kernel: string,
  inputs: KernelInputs,
  roomBytes: number,
): boolean {
  if (!isElementwise(kernel)) return false;
  const rehearsal = rehearsalOn(typeof backend === "string" ? findBackend(backend) : backend);
  if (rehearsal === undefined || rehearsal.rules.get(kernel) !== allKernels.get(kernel)) return false;
  const elements = mostElements(inputs);
  return elements !== undefined && elements * mostBytesPerElement <= roomBytes;
}

/** Of complex numbers. */
const mostBytesPerElement = 8;

/** How many elements come of broadcasting inputs; undefined where that is more than the largest has. */
function mostElements(inputs: KernelInputs): number | undefined {
  if (Array.isArray(inputs)) return undefined;
  const named = inputs as Readonly<Record<string, TensorInfo | undefined>>;
  let largest: TensorInfo["shape"] | undefined;
  let most = -1;
  for (const name in named) {
    const input = named[name];
    // What is not a tensor the kernel refuses in its own words.
    if (!Array.isArray(input?.shape)) return undefined;
    const { shape } = input;
    let elements = 1;
    for (let axis = 0; axis < shape.length; axis++) elements *= shape[axis];
    if (elements <= most) continue;
    most = elements;
    largest = shape;
  }
  if (largest === undefined) return undefined;
  for (const name in named) if (!spreadsOver((named[name] as TensorInfo).shape, largest)) return undefined;
  return most;
}

/** Whether a shape, broadcast with one that has as many elements or more, gives no more than that. */
function spreadsOver(shape: TensorInfo["shape"], over: TensorInfo["shape"]): boolean {
  const added = over.length - shape.length;
  if (added < 0) return false;
  for (let axis = 0; axis < shape.length; axis++)
    if (shape[axis] !== 1 && shape[axis] !== over[axis + added]) return false;
  return true;
}

/** Of a kernel that is composed of ops, or refuses its inputs. */
const needsEngine = "needs the engine";

function plainPeakBytes(
  { rules, fake }: Rehearsal,
  backend: Backend,
  kernel: string,
  inputs: KernelInputs,
  attributes: KernelAttributes | undefined,
): number | undefined | typeof needsEngine {
  const { allocations } = fake;
  allocations.length = 0;
  fake.kernel = kernel;
  const fakes = new Map<unknown, FakeData>();
  const given = fakeInputs(inputs, (input) => onFakeData(input, fakes));
  try {
    const outputs = [rules.get(kernel)?.(given as never, (attributes ?? {}) as never, fake) ?? []].flat();
    const shared = new Set<unknown>(fakes.values());
    for (const { output, outputPart } of sharedBuffers(backend, kernel, given, attributes)) {
      const data = outputs[output].dataId as FakeData;
      shared.add(outputPart === undefined ? data : data.parts?.[outputPart]);
    }
    return mostOf(allocations, shared);
  } catch (error) {
    return error instanceof DataDependentError ? undefined : needsEngine;
  }
}

/** What a kernel that is composed of ops does with its inputs. */
type Composed = (inputs: Record<string, TensorInfo>, backend: FakeBackend) => unknown;

/** Runs a kernel that is composed of ops in a fake mode of its own, of which neither a mode nor a tape is told. Views within it count as buffers. */
function peakOfComposed(
  backend: Backend,
  kernel: string,
  composed: Composed,
  inputs: KernelInputs,
): number | undefined {
  const engine = engineInternals();
  const { state } = engine;
  const { gradientDepth } = state;
  const allocations: Allocations = [];
  const run = () => {
    const given = fakeInputs(inputs, ({ shape, dtype }) => fakeTensor(shape, dtype));
    const fake = engine.backendInstance as unknown as FakeBackend;
    const watcher = fake.dataWatcher;
    fake.dataWatcher = watcherOf(allocations);
    fake.kernel = kernel;
    try {
      composed(given as Record<string, TensorInfo>, fake);
    } finally {
      fake.dataWatcher = watcher;
    }
  };
  state.gradientDepth = 0;
  try {
    withModeAlone({}, () => fakeMode(run, { backend }));
  } catch {
    return undefined;
  } finally {
    state.gradientDepth = gradientDepth;
  }
  return mostOf(allocations, new Set());
}

function watcherOf(allocations: Allocations): FakeBackend["dataWatcher"] {
  const note = (isFreed: boolean) => (data: object) => void allocations.push({ data: data as FakeData, isFreed });
  return { added: note(false), removed: note(true) };
}

/** Undefined where a shape is none, which the kernel itself will refuse. */
function mostOf(allocations: Allocations, shared: ReadonlySet<unknown>): number | undefined {
  const made = new Set<FakeData>();
  let bytes = 0;
  let most = 0;
  for (const { data, isFreed } of allocations) {
    if (!isFreed && !shared.has(data)) {
      made.add(data);
      bytes += data.bytes;
      if (bytes > most) most = bytes;
    } else if (made.delete(data)) bytes -= data.bytes;
  }
  return Number.isNaN(bytes) ? undefined : most;
}

/** Undefined where the kernels are not known. */
function rehearsalOn(backend: Backend): Rehearsal | undefined {
  let rehearsal = rehearsals.get(backend);
  if (rehearsal === undefined) {
    const kernels = kernelsOfBackend(backend);
    if (!isKnown(kernels)) return undefined;
    const rules = kernelRules(kernels);
    rehearsal = {
      rules,
      fake: new QuietBackend(backend, kernels, rules),
      composed: new Set(),
      calls: new KnownCalls(),
    };
    rehearsals.set(backend, rehearsal);
  }
  return rehearsal;
}

/** The same shape and dtype on data of its own, so that no count of the real data changes. */
function onFakeData({ dataId, shape, dtype }: TensorInfo, fakes: Map<unknown, FakeData>): TensorInfo {
  let fake = fakes.get(dataId);
  if (fake === undefined) {
    fake = new FakeData(dtype, "", 0);
    fakes.set(dataId, fake);
  }
  return { dataId: fake, shape, dtype };
}

function fakeInputs(
  inputs: KernelInputs,
  fakeOf: (input: TensorInfo) => TensorInfo,
): Record<string, TensorInfo> | TensorInfo[] {
  if (Array.isArray(inputs)) return (inputs as readonly TensorInfo[]).map(fakeOf);
  const named = inputs as Readonly<Record<string, TensorInfo | readonly TensorInfo[] | undefined>>;
  const fake: Record<string, unknown> = {};
  for (const name in named) {
    const input = named[name];
    if (input != null) fake[name] = Array.isArray(input) ? input.map(fakeOf) : fakeOf(input as TensorInfo);
  }
  return fake as Record<string, TensorInfo>;
}
