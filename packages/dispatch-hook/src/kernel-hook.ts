import { Phase } from "@remat/trace";
import { type DataId, getKernel, type Tensor } from "@tensorflow/tfjs-core";
import { accumulationOf, leaveNode } from "./backward-pass.js";
import { bufferBackend } from "./current-backend.js";
import type { EngineInternals, KernelParameters } from "./engine-internals.js";
import type { KernelAttributes, KernelInputs, KernelOutput } from "./kernels/index.js";
import { Op } from "./op.js";
import { reportSaved } from "./saved-tensors.js";
import { runScope } from "./scope-hook.js";
import type { Session } from "./session.js";
import { shareSaved } from "./share-saved.js";

/** The engine's own `runKernelFunc`, passed on unchanged. A closure for each op would create much garbage. */
type RunKernel = EngineInternals["runKernelFunc"];

const listOf = (outputs: Tensor | Tensor[]): readonly Tensor[] => (Array.isArray(outputs) ? outputs : [outputs]);

/**
 * Watches `runKernelFunc`, through which registered kernels and `customGrad` run (engine rule 1). It counts registered kernels
 * instead of using `kernelDepth`: a kernel inside a kernel is not an op, but a kernel inside a `customGrad` is.
 *
 * @internal
 */
export function patchKernels(session: Session): void {
  const { engine, patches, storages, modes } = session;

  patches.patch(engine, "runKernelFunc", (original) => {
    // Another wrapper must see the kernels of fake mode as well.
    const isOfEngine = original === (Object.getPrototypeOf(engine) as EngineInternals).runKernelFunc;
    const run: RunKernel = (parameters) =>
      (isOfEngine ? engine.backendInstance?.runKernel?.(parameters) : undefined) ?? original.call(engine, parameters);
    return (parameters) => {
      if (session.kernel.isCloning && session.pass?.sharesSaved) {
        const shared = shareSaved(engine, parameters.inputs.x);
        if (shared !== undefined) return shared;
      }
      if (!session.alive) return original.call(engine, parameters);
      if (!session.isWatching)
        return parameters.kernelName === undefined || modes.told.kernelOver.length === 0
          ? run(parameters)
          : runUnwatched(session, parameters, run);
      if (parameters.kernelName === undefined)
        return storages.holding || !modes.watchesTape
          ? original.call(engine, parameters)
          : runScope(session, parameters, original);
      if (storages.holding) return runNested(session, parameters, run);
      return session.kernel.isCloning ? runClone(session, parameters, run) : runOp(session, parameters, run);
    };
  });

  // This runs between the kernel and saving its tensors, if the tape is on. The kernel is done at this point.
  patches.patch(engine, "getTensorsForGradient", (original) => (kernelName, inputs, outputs) => {
    const { starting } = session.kernel;
    if (session.alive && starting !== undefined && starting.kernel === kernelName) finishOp(session, starting, outputs);
    return original.call(engine, kernelName, inputs, outputs);
  });

  patches.patch(engine, "saveTensorsForBackwardMode", (original) => (tensors) => {
    const clones = original.call(engine, tensors);
    const op = session.kernel.finishing;
    if (session.alive && op !== undefined && tensors.length > 0 && modes.told.tensorsSaved.length > 0)
      reportSaved(
        session,
        tensors.map((tensor, i) => ({
          op,
          scope: undefined,
          as: op.outputs.includes(tensor) ? "output" : "input",
          tensor,
          clone: clones[i],
        })),
      );
    return clones;
  });

  const told = (dataId: DataId): void => {
    for (const open of modes.listeners("tensorRead")) if (modes.isInside(open)) open.mode.tensorRead(dataId);
  };
  const given = (dataId: DataId, values: unknown): unknown => {
    let result = values;
    for (const open of modes.listeners("valuesRead"))
      if (modes.isInside(open)) result = open.mode.valuesRead(dataId, result);
    return result;
  };
  patches.patch(engine, "read", (original) => (dataId) => {
    told(dataId);
    const values = original.call(engine, dataId);
    return modes.listeners("valuesRead").length === 0 ? values : values.then((read) => given(dataId, read));
  });
  patches.patch(engine, "readSync", (original) => (dataId) => {
    told(dataId);
    return given(dataId, original.call(engine, dataId));
  });
}

function runOp(session: Session, parameters: KernelParameters, run: RunKernel): Tensor | Tensor[] {
  const { engine, modes } = session;
  const kernel = parameters.kernelName as string;
  const inputs: KernelInputs = parameters.inputs;
  for (const open of modes.told.opComing)
    if (modes.isInside(open)) open.mode.opComing(kernel, inputs, parameters.attrs);
  if (!modes.watchesTape) {
    const { passingOps } = session;
    const op = passingOps.take();
    op.begin(parameters, engine.backendName ?? "", session.phase, session.replaying?.sequence);
    try {
      return runTold(session, op, parameters, run, false);
    } finally {
      passingOps.giveBack();
    }
  }
  const accumulation = session.phase === Phase.backward ? accumulationOf(session, kernel, inputs) : undefined;
  const op = new Op();
  op.begin(parameters, engine.backendName ?? "", session.phase, session.replaying?.sequence);
  op.scope = session.scope;
  op.differentiates = accumulation === undefined ? session.node : accumulation.producer;
  op.accumulatesFrom = accumulation?.consumer;
  return runTold(session, op, parameters, run, accumulation?.last === true);
}

function runTold(
  session: Session,
  op: Op,
  parameters: KernelParameters,
  run: RunKernel,
  endsNode: boolean,
): Tensor | Tensor[] {
  const { storages, modes, kernel } = session;
  for (const open of modes.told.opStarting) {
    if (modes.isInside(open)) open.mode.opStarting(op);
    else if (open.mode.seesOutside) open.mode.opStarting(op.outside());
  }
  kernel.starting = op;
  kernel.hasRunOnHost = false;
  kernel.hasAddedInAnyOrder = false;
  kernel.thrown = undefined;
  if (modes.told.dispatch.length > 0 || modes.told.opFailed.length > 0) {
    wrapKernel(session, op.kernel);
    kernel.toDispatch = op;
  }
  storages.hold();
  let outputs: Tensor | Tensor[];
  try {
    outputs = run.call(session.engine, parameters);
    if (kernel.starting === op) finishOp(session, op, listOf(outputs));
    if (endsNode) leaveNode(session);
  } finally {
    // Not a `catch`, since Node would then report this line as the source of the program's error. If the op was already
    // done, saving its tensors has failed.
    if (kernel.starting === op) opFailed(session, op);
    kernel.toDispatch = undefined;
    kernel.finishing = undefined;
  }
  // Modes that began to doze during the op are in the second list. The others are in the first.
  const { opOver, kernelOver } = modes.told;
  for (const open of opOver) if (modes.isInside(open)) open.mode.opOver(op);
  for (const open of kernelOver)
    if (modes.isInside(open)) open.mode.kernelOver(op.kernel, op.inputs, op.phase, outputs);
  return outputs;
}

function opFailed(session: Session, op: Op): void {
  const { storages, modes } = session;
  const { thrown } = session.kernel;
  session.kernel.starting = undefined;
  session.kernel.thrown = undefined;
  storages.flush("op");
  if (thrown === undefined) return;
  for (const open of modes.told.opFailed) {
    if (modes.isInside(open)) open.mode.opFailed(op, thrown.error);
    else if (open.mode.seesOutside) open.mode.opFailed(op.outside(), thrown.error);
  }
}

/**
 * Runs an op while modes doze. A mode may need to know that the op has run. The table may need to know which data the
 * op shares.
 */
function runUnwatched(session: Session, parameters: KernelParameters, run: RunKernel): Tensor | Tensor[] {
  const { engine, storages, modes } = session;
  const kernel = parameters.kernelName as string;
  const isInner = session.kernel.isUnwatched;
  session.kernel.isUnwatched = true;
  let outputs: Tensor | Tensor[];
  try {
    outputs = run.call(engine, parameters);
  } finally {
    session.kernel.isUnwatched = isInner;
  }
  const backend = bufferBackend(engine.backendName ?? "", engine.backendInstance);
  storages.kernelUnwatched(backend, kernel, parameters.inputs, parameters.attrs, outputs);
  if (!isInner && !session.kernel.isCloning)
    for (const open of modes.told.kernelOver)
      if (modes.isInside(open)) open.mode.kernelOver(kernel, parameters.inputs, session.phase, outputs);
  return outputs;
}

function finishOp(session: Session, op: Op, outputs: readonly Tensor[]): void {
  const { engine, storages, modes, kernel } = session;
  kernel.starting = undefined;
  op.outputs = outputs;
  op.isOnHost = kernel.hasRunOnHost;
  op.isInAnyOrder = kernel.hasAddedInAnyOrder;
  const backend = bufferBackend(op.backend, engine.backendInstance);
  storages.kernelDone(backend, op.kernel, op.inputs, op.attributes, outputs);
  if (session.replaying !== undefined) adoptOutputs(session, session.replaying.into, outputs);
  storages.flush("op");
  kernel.finishing = op;
  for (const open of modes.told.opDone) {
    if (modes.isInside(open)) open.mode.opDone(op);
    else if (open.mode.seesOutside) open.mode.opDone(op.outside());
  }
}

/** Moves the results of a replay to the evicted data. */
function adoptOutputs({ storages }: Session, into: readonly (DataId | undefined)[], outputs: readonly Tensor[]): void {
  outputs.forEach((output, i) => {
    const evicted = into[i];
    if (evicted !== undefined) storages.adopt(output.dataId, evicted);
  });
}

function runNested(session: Session, parameters: KernelParameters, run: RunKernel): Tensor | Tensor[] {
  const outputs = run.call(session.engine, parameters);
  const { engine, storages } = session;
  const backend = bufferBackend(engine.backendName ?? "", engine.backendInstance);
  storages.kernelDone(backend, parameters.kernelName as string, parameters.inputs, parameters.attrs, listOf(outputs));
  return outputs;
}

/** Runs the Identity of `engine.clone`, which is not an op, but copies on wasm. */
function runClone(session: Session, parameters: KernelParameters, run: RunKernel): Tensor | Tensor[] {
  const { storages } = session;
  storages.hold();
  try {
    return runNested(session, parameters, run);
  } finally {
    storages.flush("save");
  }
}

/**
 * Wraps a registered kernel's function with `dispatch`, and notes its errors. Done at its first use, which covers
 * kernels that are registered late.
 */
function wrapKernel(session: Session, kernel: string): void {
  const config = getKernel(kernel, session.engine.backendName as string);
  if (config === undefined || session.wrappedKernels.get(config) === config.kernelFunc) return;
  session.patches.patch(config, "kernelFunc", (original) => (parameters) => {
    const op = session.kernel.toDispatch;
    if (op === undefined || op.kernel !== kernel) return original.call(config, parameters);
    session.kernel.toDispatch = undefined;
    try {
      return dispatch(session, op, (inputs = op.inputs, attributes = op.attributes) =>
        original.call(config, { ...parameters, inputs: inputs as never, attrs: attributes as never }),
      );
    } catch (error) {
      session.kernel.thrown = { error };
      throw error;
    }
  });
  session.wrappedKernels.set(config, config.kernelFunc);
}

function dispatch(
  session: Session,
  op: Op,
  run: (inputs?: KernelInputs, attributes?: KernelAttributes) => KernelOutput,
): KernelOutput {
  const chain = session.modes.told.dispatch.filter((open) => session.modes.isInside(open));
  const from = (depth: number, call: Op): KernelOutput => {
    const open = chain[depth];
    if (open === undefined) return run(call.inputs, call.attributes);
    return open.mode.dispatch(call, (inputs = call.inputs, attributes = call.attributes) =>
      from(depth - 1, inputs === call.inputs && attributes === call.attributes ? call : call.with(inputs, attributes)),
    );
  };
  return from(chain.length - 1, op);
}
