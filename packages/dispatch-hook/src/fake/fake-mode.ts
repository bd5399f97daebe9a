import { RematError } from "@remat/trace";
import { type DataType, env, type Tensor } from "@tensorflow/tfjs-core";
import { type Backend, type BackendName, fullestBackend } from "../backends/index.js";
import { kernelRules } from "../backends/kernel-rules.js";
import { type EngineBackend, type EngineInternals, engineInternals } from "../engine/index.js";
import { deviceFreeBackend } from "./device-free-backend.js";
import { FakeBackend } from "./fake-backend.js";
import type { FakeInstance } from "./fake-instance.js";
import { registerFakeKernels, registerKernelsOf } from "./fake-kernels.js";
import { type FakeableBackend, fakeableBackend, fakeableHere, type RunningBackend } from "./fakeable-backend.js";
import { guardOptimizers } from "./guard-optimizers.js";
import { guardStates } from "./guard-states.js";
import { guardVariables } from "./guard-variables.js";
import { noteTensors, type Release } from "./note-tensors.js";
import { override, remember, shared, type Undo, undoAll } from "./override.js";
import { skipLookups } from "./run-fake-kernel.js";
import { runFills, skipFills } from "./skip-fills.js";
import { skipInitializers } from "./skip-initializers.js";

/** Options of `fakeMode`. */
export interface FakeModeOptions {
  /**
   * The backend to simulate: which kernels it has, and which outputs share a buffer. Default: the one that lacks the
   * fewest kernels, `cpu`.
   */
  readonly backend?: BackendName | Backend;
  /**
   * True to keep tensors and variables that `fn` leaves behind. By default, those that are not part of the result are
   * disposed of.
   */
  readonly keepTensors?: boolean;
  /**
   * True to fill the arrays that TensorFlow.js fills in JavaScript. This takes time, and also memory until the next
   * garbage collection. Default: false.
   */
  readonly fillArrays?: boolean;
}

interface OpenMode {
  readonly undos: Undo[];
  readonly release: Release;
  closed: boolean;
}

const fakes = new WeakMap<Backend, FakeInstance>();
const openModes: OpenMode[] = [];
const skipAllFills = shared(skipFills);
const registrations = new WeakMap<Backend, () => Undo>();

/**
 * Returns the fake backend for a backend. Each backend has one, which is reused. A backend that runs without its device
 * gets a new one each time, because it depends on the layout of the real one's data.
 */
function fakeOf(fakeable: FakeableBackend | RunningBackend): FakeInstance {
  const { backend } = fakeable;
  if ("running" in fakeable) return deviceFreeBackend(backend, fakeable.running);
  let fake = fakes.get(backend);
  if (fake === undefined) {
    const { kernels } = fakeable;
    fake = new FakeBackend(backend, kernels, kernelRules(kernels)) as FakeInstance;
    fakes.set(backend, fake);
  }
  return fake;
}

/**
 * Returns the backend that fake mode simulates, or undefined outside of fake mode.
 *
 * @example
 * fakeMode(() => currentFakeBackend(), { backend: "wasm" }); // "wasm"
 */
export function currentFakeBackend(): string | undefined {
  return currentFake()?.standsFor.name;
}

/**
 * Returns a tensor with a shape and dtype but without values, for plain functions. Outside of fake mode it belongs to
 * the fake cpu backend.
 *
 * @example
 * const x = fakeTensor([8, 1024, 768]);
 * fakeMode(() => attention(x).shape);
 */
export function fakeTensor(shape: readonly number[], dtype: DataType = "float32"): Tensor {
  return makeFakeTensor(currentFake() ?? fakeOf(fakeableBackend("cpu")), [...shape], dtype);
}

function currentFake(): FakeInstance | undefined {
  const { backendInstance } = engineInternals();
  return backendInstance?.standsFor === undefined ? undefined : (backendInstance as unknown as FakeInstance);
}

function useBackend(engine: EngineInternals, standsFor: FakeableBackend | RunningBackend, backend: FakeInstance): Undo {
  const name = `fake-${standsFor.backend.name}`;
  const undos = ["backendName", "backendInstance", "profiler"].map((key) => remember(engine, key));
  undos.push(
    override(engine.registry, name, backend),
    override(engine.registryFactory, name, { factory: () => backend, priority: 0 }),
  );
  let register = registrations.get(standsFor.backend);
  if (register === undefined) {
    register = shared(() =>
      "running" in standsFor
        ? registerKernelsOf(standsFor.backend.name, name)
        : registerFakeKernels(name, backend as unknown as FakeBackend, standsFor.kernels),
    );
    registrations.set(standsFor.backend, register);
  }
  undos.push(register(), skipLookups(engine));
  // Completes synchronously, because the backend already exists.
  void engine.setBackend(name);
  return () => undoAll(undos);
}

function open(options: FakeModeOptions): OpenMode {
  const engine = engineInternals();
  if (engine.pendingBackendInit != null) {
    throw new RematError(
      "BACKEND_PENDING",
      `Backend '${engine.backendName}' is still starting. Call await tf.ready() before fakeMode().`,
    );
  }
  const standsFor = fakeableHere(options.backend ?? fullestBackend());
  const backend = fakeOf(standsFor);
  const { release, stop } = noteTensors(engine);
  const undos = [
    stop,
    guardVariables(engine),
    guardOptimizers(),
    guardStates(),
    useBackend(engine, standsFor, backend),
    skipAllFills(),
  ];
  if (options.fillArrays === true) undos.push(runFills());
  const forget = (weight: Tensor, madeBy: string): void => backend.forget(weight.dataId, madeBy);
  undos.push(skipInitializers((shape, dtype) => makeFakeTensor(backend, shape, dtype), forget));
  // The checks of debug mode read every output.
  if (env().getBool("DEBUG")) undos.push(override(env().getFlags(), "DEBUG", false));
  const mode = { undos, release: options.keepTensors === true ? () => undefined : release, closed: false };
  openModes.push(mode);
  return mode;
}

/**
 * Closes modes in stack order. A mode that ends too early (overlapping asynchronous modes) waits for those above it.
 */
function close(mode: OpenMode, result: unknown): void {
  mode.release(result);
  mode.closed = true;
  for (let top = openModes.at(-1); top?.closed === true; top = openModes.at(-1)) {
    openModes.pop();
    undoAll(top.undos);
  }
}

/**
 * Runs `fn` on a backend that computes nothing. Kernels infer shapes and dtypes, hand out data ids and reference counts
 * like the simulated backend, and allocate no memory. So a model of any size can be built and traced in milliseconds.
 * It corresponds to PyTorch's `FakeTensorMode`.
 *
 * Which values exist:
 *
 * - Constants from JavaScript (`tf.tensor([2, 3])`) stay readable up to 65,536 elements. So do values computed from
 *   known whole numbers up to 1,024 elements, such as shapes, axes and counters, if the cpu backend is loaded.
 * - Fills in JavaScript of more than 1,024 elements (zeros, ones, random numbers, dropout masks) are skipped, and a
 *   `tf.buffer` of that size is empty (unless `fillArrays` is set). `Math.random` is called as often as usual, since
 *   TensorFlow.js draws only seeds from it.
 * - Results of layer initializers have no values at any size, and `Orthogonal` runs no kernels.
 * - A single computed number (a loss, a metric) reads as NaN outside of forward and backward passes and of modules. So
 *   `fit`, `evaluate` and your own loops run unchanged.
 * - Reading any other value, or running a kernel whose output shapes depend on values, throws a
 *   {@link DataDependentError}. A kernel that the backend lacks throws `KERNEL_MISSING`.
 *
 * You can use real tensors inside. Real variables, optimizers and stateful layers get their values back afterwards.
 * Backend, kernels, globals and memory are restored, also after an exception. Tensors and variables that `fn` made and
 * that are not part of its result are disposed of. Tensors and variables in its result stay fake and can be used in a
 * later fake mode. Other changes that `fn` makes to its caller's objects cannot be undone.
 *
 * There is one engine per process. While an asynchronous `fn` is awaited, other asynchronous work is fake as well.
 *
 * @example
 * const { shape } = fakeMode(() => tf.matMul(tf.zeros([12288, 49152]), tf.zeros([49152, 12288]))); // [12288, 12288], at once
 */
export function fakeMode<T>(fn: () => T, options: FakeModeOptions = {}): T {
  const mode = open(options);
  let result: T;
  try {
    result = fn();
  } catch (error) {
    close(mode, undefined);
    throw error;
  }
  if (!isPromise(result)) {
    close(mode, result);
    return result;
  }
  return result.then(
    (value) => {
      close(mode, value);
      return value;
    },
    (error: unknown) => {
      close(mode, undefined);
      throw error;
    },
  ) as T;
}

function isPromise(value: unknown): value is Promise<unknown> {
  return value !== null && typeof value === "object" && "then" in value && typeof value.then === "function";
}

/** Makes a tensor without values on a fake backend. */
function makeFakeTensor(backend: FakeInstance, shape: number[], dtype: DataType): Tensor {
  backend.kernel = "a call of fakeTensor";
  return engineInternals().makeTensorFromTensorInfo(backend.make(shape, dtype), backend as EngineBackend);
}
