import { Phase } from "@remat/trace";
import { type DataId, Tensor, type TensorInfo } from "@tensorflow/tfjs-core";
import type { DataEntry } from "../backends/index.js";
import type { EngineInternals } from "../engine-internals.js";
import type { KernelAttributes } from "../kernels/index.js";
import type { Session } from "../session.js";
import { entryMissing, type Located, locateData } from "./data-contents.js";

/** A kernel call that can be replayed. The inputs have the shapes with which the kernel was called. */
export interface KernelRecipe {
  /** Name of the kernel. */
  readonly kernel: string;
  /** Inputs by name or as a list. */
  readonly inputs: Readonly<Record<string, TensorInfo>> | readonly TensorInfo[];
  /** Attributes of the call. */
  readonly attributes: KernelAttributes | undefined;
  /** The `sequence` of the original op, if it was one. */
  readonly sequence?: number;
}

/**
 * Replays the kernel and moves its outputs to the `DataId`s in `into`. Other outputs are freed. It runs off the tape,
 * in `Phase.recompute`, and outside of every scope and node.
 *
 * @internal
 */
export function replay(session: Session, recipe: KernelRecipe, into: readonly (DataId | undefined)[]): void {
  const { engine, storages, node, scope, phase, replaying } = session;
  const { finishing } = session.kernel;
  session.node = session.pass?.aroundNode;
  session.scope = undefined;
  session.replaying = { into, sequence: recipe.sequence };
  session.setPhase(Phase.recompute);
  engine.state.kernelDepth++;
  engine.startScope();
  try {
    const outputs = [engine.runKernel(recipe.kernel, tensorsOf(engine, recipe.inputs), recipe.attributes)].flat();
    into.forEach((dataId, i) => {
      if (dataId === undefined) return;
      const from = locateData(session, outputs[i].dataId);
      const to = storages.entryOf(dataId);
      if (from === undefined || to === undefined) throw entryMissing();
      if (isInput(outputs[i], recipe.inputs)) copyData(from, to);
      else from.residency.move(from.entry, to);
    });
  } finally {
    engine.endScope();
    engine.state.kernelDepth--;
    session.node = node;
    session.scope = scope;
    session.replaying = replaying;
    session.kernel.finishing = finishing;
    session.setPhase(phase);
  }
}

/**
 * Returns whether a kernel returned its input. `Reshape` may do so in a replay although it made a copy in its first
 * run, because the layout of the texture differs.
 */
const isInput = ({ dataId }: TensorInfo, inputs: KernelRecipe["inputs"]): boolean =>
  Object.values(inputs).some((input: TensorInfo) => input.dataId === dataId);

function copyData({ dataId, residency, instance }: Located, to: DataEntry): void {
  const values = instance.readSync?.(dataId) as Float32Array;
  residency.restore(to, values.slice(), instance);
}

/** Makes tensors that the engine does not count, since the original ones may have been disposed of. */
function tensorsOf(engine: EngineInternals, inputs: KernelRecipe["inputs"]): Tensor[] | Record<string, Tensor> {
  const tensorOf = ({ shape, dtype, dataId }: TensorInfo): Tensor =>
    new Tensor(shape as never, dtype, dataId, engine.nextTensorId());
  if (Array.isArray(inputs)) return inputs.map(tensorOf);
  return Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, tensorOf(input)]));
}
