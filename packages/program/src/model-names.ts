import { itemAt, Phase, row, type Trace } from "@remat/trace";

/**
 * Returns the name for a trace: the modules that do not run inside another. If only some of them are updated, these
 * come first and the others follow after `with`. For example, both steps of a GAN run both of its models. Undefined if
 * there is no module.
 *
 * @internal
 */
export function modelNames(
  trace: Pick<Trace, "calls" | "modules" | "ops" | "tensors" | "weights">,
): string | undefined {
  const { calls, modules } = trace;
  const outermost = new Set<number>();
  calls.parent.forEach((parent, call) => {
    if (parent < 0) outermost.add(itemAt(calls.module, call));
  });
  if (outermost.size === 0) return undefined;
  const read = readByUpdate(trace);
  const updated = [...outermost].filter((module) => ownsAny(trace, module, read));
  const others = [...outermost].filter((module) => !updated.includes(module));
  const list = (some: readonly number[]) => [...new Set(some.map((module) => itemAt(modules, module).fqn))].join(", ");
  return updated.length === 0 || others.length === 0 ? list([...outermost]) : `${list(updated)} with ${list(others)}`;
}

/** The storages that ops of the optimizer read. */
function readByUpdate({ ops, tensors }: Pick<Trace, "ops" | "tensors">): ReadonlySet<number> {
  const read = new Set<number>();
  ops.phase.forEach((phase, op) => {
    if (phase !== Phase.optimizer) return;
    for (const tensor of row(ops.inputs, op)) read.add(itemAt(tensors.storage, tensor));
  });
  return read;
}

function ownsAny(
  { tensors, weights }: Pick<Trace, "tensors" | "weights">,
  module: number,
  storages: ReadonlySet<number>,
): boolean {
  return weights.module.some(
    (owner, index) =>
      owner === module &&
      row(weights.parameters, index).some((tensor) => storages.has(itemAt(tensors.storage, tensor))),
  );
}
