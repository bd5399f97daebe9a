import type { layers } from "@tensorflow/tfjs-layers";

/** Any layer of tfjs-layers. */
export type Layer = InstanceType<typeof layers.Layer>;

/** A class of layers, made with its configuration. */
export type LayerClass = new (config: object) => Layer;

/** Derives a class from a stock one, and the same one each time: all corrected layers of a process are instances of one class. */
export function derivingOnce(derive: (Base: LayerClass) => LayerClass): (Base: LayerClass) => LayerClass {
  const derived = new WeakMap<LayerClass, LayerClass>();
  return (Base) => {
    const known = derived.get(Base) ?? derive(Base);
    derived.set(Base, known);
    return known;
  };
}
