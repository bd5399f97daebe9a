import type { layers } from "@tensorflow/tfjs-layers";

/** Any layer of tfjs-layers. */
export type Layer = InstanceType<typeof layers.Layer>;

/** A layer class whose constructor takes a configuration. */
export type LayerClass = new (config: object) => Layer;

/** Caches a derived class, so that all corrected layers of a process are instances of one class. */
export function derivingOnce(derive: (Base: LayerClass) => LayerClass): (Base: LayerClass) => LayerClass {
  const derived = new WeakMap<LayerClass, LayerClass>();
  return (Base) => {
    const known = derived.get(Base) ?? derive(Base);
    derived.set(Base, known);
    return known;
  };
}
