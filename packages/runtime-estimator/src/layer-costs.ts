import { EventKind, elementsOf, Phase, row, type TensorIndex, type Trace } from "@remat/trace";
import { contractionFlopsOf } from "./op-cost.js";
import { groupOps, opCallOf } from "./op-signatures.js";

/** Weights of a layer, and the cost of its forward pass. */
export interface LayerCost {
  /** Number of trainable weight elements. Shared weights count in each layer that uses them. */
  readonly parameters: number;
  /** Number of non-trainable weight elements. */
  readonly buffers: number;
  /**
   * FLOPs of matrix products, convolutions and attention in the forward pass, as PyTorch's `FlopCounterMode` counts
   * them: two for each multiply-add.
   */
  readonly flops: number;
  /** Multiply-adds in the forward pass, as papers count them. */
  readonly multiplyAdds: number;
  /** Time of the forward pass in milliseconds. */
  readonly forwardMs: number;
}

/** Cost of one layer, with its name. */
export interface NamedLayerCost extends LayerCost {
  /** Fully qualified name. */
  readonly fqn: string;
  /** Class of the layer. */
  readonly kind: string;
  /** Number of forward calls. */
  readonly calls: number;
  /** Shape of the first tensor that its last call returns. Undefined if it was not recorded. */
  readonly outputShape: readonly number[] | undefined;
}

/** Result of `layerCosts`. */
export interface LayerCosts {
  /** Modules without submodules, in the order in which they first run. Modules that run no op come last. */
  readonly layers: readonly NamedLayerCost[];
  /** Cost of forward ops outside of all layers. */
  readonly outside: Pick<LayerCost, "flops" | "multiplyAdds" | "forwardMs">;
  /** Cost of the whole model, counting each weight once. */
  readonly total: LayerCost;
}

/**
 * Returns the weights and the forward cost of each layer in a priced trace.
 *
 * @example
 * layerCosts(priceTrace(trace, deviceSpec("a100"))).total.multiplyAdds;
 */
export function layerCosts(trace: Trace): LayerCosts {
  const flopsOf = contractionFlopsByOp(trace);
  const byName = new Map<string, { -readonly [Field in keyof NamedLayerCost]: NamedLayerCost[Field] }>();
  const layerNamed = (fqn: string, kind: string) => {
    let layer = byName.get(fqn);
    if (layer === undefined) {
      layer = {
        fqn,
        kind,
        calls: 0,
        parameters: 0,
        buffers: 0,
        flops: 0,
        multiplyAdds: 0,
        forwardMs: 0,
        outputShape: undefined,
      };
      byName.set(fqn, layer);
    }
    return layer;
  };
  for (let call = 0; call < trace.calls.count; call++) {
    const { fqn, kind, leaf } = trace.modules[trace.calls.module[call]];
    if (leaf) layerNamed(fqn, kind).calls++;
  }
  const outside = { flops: 0, multiplyAdds: 0, forwardMs: 0 };
  const all = { ...outside };
  for (let op = 0; op < trace.ops.count; op++) {
    if (trace.ops.phase[op] !== Phase.forward) continue;
    const module = trace.opModule(op);
    const layer = module?.leaf === true ? layerNamed(module.fqn, module.kind) : undefined;
    for (const cost of [layer ?? outside, all]) {
      cost.flops += flopsOf[op];
      cost.multiplyAdds += flopsOf[op] / 2;
      cost.forwardMs += trace.ops.runtimeMs[op] || 0;
    }
  }
  for (let event = 0; event < trace.events.count; event++) {
    const subject = trace.events.subject[event];
    if (trace.events.kind[event] !== EventKind.exitModule || trace.moduleEvents.phase[subject] !== Phase.forward)
      continue;
    const { fqn } = trace.modules[trace.calls.module[trace.moduleEvents.call[subject]]];
    const [output] = row(trace.moduleEvents.tensors, subject);
    const layer = byName.get(fqn);
    if (layer !== undefined && output !== undefined) layer.outputShape = trace.tensorShape(output);
  }
  const seen = { parameters: new Set<number>(), buffers: new Set<number>() };
  const counted = { parameters: 0, buffers: 0 };
  for (let i = 0; i < trace.weights.count; i++) {
    const { fqn, kind, leaf } = trace.modules[trace.weights.module[i]];
    const layer = leaf ? layerNamed(fqn, kind) : undefined;
    for (const what of ["parameters", "buffers"] as const) {
      const tensors = row(trace.weights[what], i);
      const elements = (tensor: TensorIndex): number => elementsOf(trace.tensorShape(tensor));
      // Weights may be recorded again after they have changed.
      if (layer !== undefined) layer[what] = tensors.reduce((sum, tensor) => sum + elements(tensor), 0);
      for (const tensor of tensors) {
        if (seen[what].has(tensor)) continue;
        seen[what].add(tensor);
        counted[what] += elements(tensor);
      }
    }
  }
  return { layers: [...byName.values()], outside, total: { ...counted, ...all } };
}

/** FLOPs of an op without a formula are those in the trace. */
function contractionFlopsByOp(trace: Trace): Float64Array {
  const { ofOp, firstOp } = groupOps(trace);
  const ofGroup = firstOp.map((op) => contractionFlopsOf(opCallOf(trace, op), trace.header.framework));
  return Float64Array.from(ofOp, (group, op) => ofGroup[group] ?? (trace.ops.flops[op] || 0));
}
