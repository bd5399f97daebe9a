import type { DataType, Tensor } from "@tensorflow/tfjs-core";
import { type ClassMap, classMaps } from "./class-maps.js";
import { override, type Undo, undoAll } from "./override.js";

type Apply = (this: object, shape: number[], dtype?: DataType) => Tensor;

interface Prototype {
  apply?: Apply;
}

/** Returns the prototypes of tfjs-layers' initializers with their own `apply`. Empty if tfjs-layers is not loaded. */
function initializerPrototypes(classes: ClassMap): Map<Prototype, string> {
  const prototypes = new Map<Prototype, string>();
  const base = classes.get("Zeros")?.prototype;
  const initializer = base === undefined ? undefined : (Object.getPrototypeOf(base) as object);
  if (initializer === undefined) return prototypes;
  for (const [name, { prototype }] of classes) {
    if (Object.prototype.isPrototypeOf.call(initializer, prototype) && Object.hasOwn(prototype, "apply"))
      prototypes.set(prototype, name);
  }
  return prototypes;
}

/**
 * Makes layer initializers return tensors without values. `Orthogonal` is not run at all, since it decomposes a matrix
 * row by row, which takes thousands of kernels. @internal
 */
export function skipInitializers(
  make: (shape: number[], dtype: DataType) => Tensor,
  forget: (weight: Tensor, madeBy: string) => void,
): Undo {
  const undos: Undo[] = [];
  for (const [prototype, name] of classMaps().flatMap((classes) => [...initializerPrototypes(classes)])) {
    const apply = prototype.apply as Apply;
    const skipped: Apply = function (shape, dtype) {
      const decomposes = name === "Orthogonal" && shape.length === 2 && (dtype ?? "float32") === "float32";
      const weight = decomposes ? make(shape, "float32") : apply.call(this, shape, dtype);
      const { className } = this.constructor as { className?: string };
      forget(weight, `initializer ${className ?? name}`);
      return weight;
    };
    undos.push(override(prototype, "apply", skipped));
  }
  return () => undoAll(undos);
}
