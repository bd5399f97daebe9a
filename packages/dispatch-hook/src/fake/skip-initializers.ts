import { type DataType, serialization, type Tensor } from "@tensorflow/tfjs-core";
import { override, type Undo, undoAll } from "./override.js";

type Apply = (this: object, shape: number[], dtype?: DataType) => Tensor;

interface Prototype {
  apply?: Apply;
}

/** The prototypes of tfjs-layers' initializers that have an `apply` of their own; none where tfjs-layers is not loaded. */
function initializerPrototypes(): Map<Prototype, string> {
  const classes = serialization.SerializationMap.getMap().classNameMap;
  const base: unknown = classes.Zeros && Object.getPrototypeOf(classes.Zeros[0].prototype);
  const prototypes = new Map<Prototype, string>();
  for (const [name, [{ prototype }]] of Object.entries(classes)) {
    for (
      let at: unknown = prototype;
      at !== null && typeof base === "object" && at !== base;
      at = Object.getPrototypeOf(at)
    ) {
      if (!Object.prototype.isPrototypeOf.call(base as object, at as object)) break;
      if (Object.hasOwn(at as object, "apply")) prototypes.set(at as Prototype, name);
    }
  }
  return prototypes;
}

/**
 * Makes the weights of layers come without values: an initializer's result loses them. `Orthogonal` decomposes a matrix row by row, which
 * takes thousands of kernels; it is not run at all. @internal
 */
export function skipInitializers(
  make: (shape: number[], dtype: DataType) => Tensor,
  forget: (weight: Tensor, madeBy: string) => void,
): Undo {
  const undos: Undo[] = [];
  for (const [prototype, name] of initializerPrototypes()) {
    const apply = prototype.apply as Apply;
    const skipped: Apply = function (shape, dtype) {
      const decomposes = name === "Orthogonal" && shape.length === 2 && (dtype ?? "float32") === "float32";
      const weight = decomposes ? make(shape, "float32") : apply.call(this, shape, dtype);
      forget(weight, `initializer ${name}`);
      return weight;
    };
    undos.push(override(prototype, "apply", skipped));
  }
  return () => undoAll(undos);
}
