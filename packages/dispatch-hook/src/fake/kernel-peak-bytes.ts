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

/** Allocations and frees of a kernel, in order. */
type Allocations = { readonly data: FakeData; readonly isFreed: boolean }[];

/** A separate fake backend. */
interface Rehearsal {
  readonly rules: ReadonlyMap<string, Infer>;
  readonly fake: QuietBackend;
  /** Kernels that the backend composes of TensorFlow.js ops, which need the engine. */
  readonly composed: Set<string>;
  readonly calls: KnownCalls;
}

/** A fake backend whose allocations are not reported, and which makes no tensors of the engine. */
class QuietBackend extends FakeBackend {
  readonly allocations: Allocations = [];
  override dataWatcher: FakeBackend["dataWatcher"] = watcherOf(this.allocations);

  override tensorOf(): Tensor {
    throw new Error("this kernel consists of other ops");
  }
}

const rehearsals = new WeakMap<Backend, Rehearsal>();

/**
 * Returns the peak memory of a kernel call in bytes beyond its inputs, before it runs. It covers its output buffers,
 * except for views of inputs, and its scratch memory. If other ops replace the kernel, this is their peak. Undefined if
 * fake mode does not know the kernel or the backend, and if output shapes depend on values.
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

/** True if kernels run on this backend now and it can be simulated without its device. */
function isRunning({ name, withoutDevice }: Backend): boolean {
  return withoutDevice !== undefined && engineInternals().backendName === name;
}

/**
 * Returns whether a kernel certainly needs at most `roomBytes` beyond its inputs. This is a hundred times faster than
 * `kernelPeakBytes`, but handles only elementwise kernels without scratch memory, by the shapes of their inputs. False
 * means unknown. It is always false for a backend whose kernels are in no table, because textures are padded.
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

/** The size of a complex number. */
const mostBytesPerElement = 8;

/** Returns the number of elements after broadcasting the inputs. Undefined if it is more than the largest input has. */
function mostElements(inputs: KernelInputs): number | undefined {
  if (Array.isArray(inputs)) return undefined;
  const named = inputs as Readonly<Record<string, TensorInfo | undefined>>;
  let largest: TensorInfo["shape"] | undefined;
  let most = -1;
  for (const name in named) {
    const input = named[name];
    // The kernel itself rejects inputs that are not tensors.
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

/** Returns whether broadcasting `shape` with `over`, which has at least as many elements, gives no more elements. */
function spreadsOver(shape: TensorInfo["shape"], over: TensorInfo["shape"]): boolean {
  const added = over.length - shape.length;
  if (added < 0) return false;
  for (let axis = 0; axis < shape.length; axis++)
    if (shape[axis] !== 1 && shape[axis] !== over[axis + added]) return false;
  return true;
}

/** Marks a kernel that is composed of ops, or that rejects its inputs. */
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

/** Runs a kernel that is composed of ops. */
type Composed = (inputs: Record<string, TensorInfo>, backend: FakeBackend) => unknown;

/**
 * Runs a kernel that is composed of ops. It runs in a fake mode of its own, which neither modes nor the tape notice.
 * Views inside it count as buffers.
 */
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

/** Returns undefined if a shape is invalid, which the kernel itself will reject. */
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

/** Returns undefined if the kernels are not known. */
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

/**
 * Returns a tensor with the same shape and dtype on separate data, so that reference counts of the real data do not
 * change.
 */
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
