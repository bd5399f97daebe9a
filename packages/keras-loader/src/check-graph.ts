import { RematError } from "@remat/trace";
import { isModelClass, type LayerEntry, label, type TensorReference } from "./layer-note.js";

/**
 * Checks that every call of every layer can be made. tfjs-layers would wait forever for a call whose input no layer
 * provides.
 */
export function checkGraph(layers: readonly LayerEntry[], ends: readonly TensorReference[], path: string): void {
  const byName = new Map<string, LayerEntry>();
  for (const layer of layers) {
    if (byName.has(layer.name)) throw broken(path, `two layers are named '${layer.name}'`);
    byName.set(layer.name, layer);
  }
  const made = new Map<string, number>();
  const waiting: { layer: LayerEntry; call: number; missing: number }[] = [];
  const waiters = new Map<string, (typeof waiting)[number][]>();
  const ready: { layer: LayerEntry; call: number }[] = [];
  for (const layer of layers) {
    const first = firstCall(layer);
    if (first === 1) made.set(`${layer.name}:0`, 1);
  }
  for (const layer of layers) {
    layer.inboundNodes?.forEach((node, i) => {
      const call = firstCall(layer) + i;
      const sources = new Set(
        node
          .map((input) => checkReference(input, byName, `${label(layer)} takes`, path))
          .filter((key) => !made.has(key)),
      );
      if (sources.size === 0) ready.push({ layer, call });
      const entry = { layer, call, missing: sources.size };
      if (sources.size > 0) waiting.push(entry);
      for (const key of sources) waiters.set(key, [...(waiters.get(key) ?? []), entry]);
    });
  }
  for (let next = ready.pop(); next !== undefined; next = ready.pop()) {
    for (const waiter of waiters.get(`${next.layer.name}:${next.call}`) ?? []) {
      waiter.missing -= 1;
      if (waiter.missing === 0) ready.push(waiter);
    }
  }
  const stuck = waiting.find((entry) => entry.missing > 0);
  if (stuck !== undefined) throw broken(path, `${label(stuck.layer)} takes part in a cycle`);
  for (const end of ends) checkReference(end, byName, "the model has", path);
}

/** Number of a layer's first call in the file. The construction of an input or a model is its call 0. */
function firstCall(layer: LayerEntry): number {
  return layer.className === "InputLayer" || isModelClass(layer.className) ? 1 : 0;
}

function checkReference(
  [from, call]: TensorReference,
  byName: ReadonlyMap<string, LayerEntry>,
  who: string,
  path: string,
): string {
  const source = byName.get(from);
  if (source === undefined) throw broken(path, `${who} the output of '${from}', which is not a layer of the file`);
  const calls = (source.inboundNodes?.length ?? 0) + firstCall(source);
  const least = isModelClass(source.className) ? 1 : 0;
  if (call < least || call >= calls) {
    throw broken(
      path,
      `${who} the output of call ${call} of ${label(source)}, which has calls ${least} to ${calls - 1}`,
    );
  }
  return `${from}:${call}`;
}

function broken(path: string, what: string): RematError {
  return new RematError(
    "KERAS_GRAPH_BROKEN",
    `Keras topology: in ${path}, ${what}. Export the model again with model.to_json() or tensorflowjs_converter.`,
  );
}
