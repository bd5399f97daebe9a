import type { KernelConfig, Tensor, TensorInfo } from "@tensorflow/tfjs-core";
import type { EngineInternals, KernelParameters } from "../engine/index.js";
import { override, type Undo } from "./override.js";

/**
 * Runs a fake kernel in the same way as `Engine.runKernelFunc` of tfjs-core 4.22, with the same tensors, saved tensors
 * and tape. It leaves out the work that only real kernels need, such as checks for leaks, which takes most of the
 * engine's time per op. Returns undefined if only the engine can run the kernel: it is not a fake one, or is profiled.
 *
 * @param configs the fake kernels by name. The engine looks a kernel up by a string that it builds each time
 * @internal
 */
export function runFakeKernel(
  engine: EngineInternals,
  { kernelName, inputs, attrs }: KernelParameters,
  configs: ReadonlyMap<string, KernelConfig>,
): Tensor | Tensor[] | undefined {
  const { state, backendInstance } = engine;
  const config = kernelName === undefined || state.profiling ? undefined : configs.get(kernelName);
  if (config === undefined) return undefined;
  const isTapeOn = state.gradientDepth > 0 && state.kernelDepth === 0;
  let made: TensorInfo | TensorInfo[];
  let outputs: Tensor[];
  let saved: Tensor[] = [];
  state.kernelDepth++;
  try {
    made = config.kernelFunc({ inputs, attrs: attrs as never, backend: backendInstance as object });
    outputs = Array.isArray(made) ? made.map((info) => tensorOf(engine, info)) : [tensorOf(engine, made)];
    if (isTapeOn) {
      const toSave = engine.getTensorsForGradient(config.kernelName, inputs, outputs) as Tensor[];
      saved = engine.saveTensorsForBackwardMode(toSave);
    }
  } finally {
    state.kernelDepth--;
  }
  if (isTapeOn) engine.addTapeNode(config.kernelName, inputs, outputs, null, saved, attrs);
  return Array.isArray(made) ? outputs : outputs[0];
}

/** A kernel composed of TensorFlow.js ops returns a tensor. */
const tensorOf = (engine: EngineInternals, info: TensorInfo): Tensor =>
  (info as Partial<Tensor>).rank == null ? engine.makeTensorFromTensorInfo(info) : (info as Tensor);

/**
 * Makes `Engine.runKernel` run fake kernels without looking them up first, because {@link runFakeKernel} finds them
 * itself.
 *
 * @internal
 */
export function skipLookups(engine: EngineInternals): Undo {
  const { runKernel } = engine;
  const direct: EngineInternals["runKernel"] = (kernelName, inputs, attrs) =>
    (engine.backendInstance as FakeConfigs).configs?.has(kernelName) === true
      ? engine.runKernelFunc({ kernelName, inputs, attrs } as KernelParameters)
      : runKernel.call(engine, kernelName, inputs, attrs);
  return override(engine, "runKernel", direct);
}

/** A backend instance with fake kernels by name, if it is the fake backend. */
interface FakeConfigs {
  readonly configs?: ReadonlyMap<string, KernelConfig>;
}
