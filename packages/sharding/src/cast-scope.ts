import type { FloatIslands } from "./own-casts.js";

/** The modules in which casts are searched for. */
export interface CastScope {
  /** The ops that compute in float32 although the model computes in a lower dtype. */
  readonly islands?: FloatIslands | undefined;
  readonly root: number;
  /** Modules whose outputs are cast to a wider dtype, with that dtype. */
  readonly castModules: ReadonlyMap<number, string>;
  /**
   * For each FSDP unit, the module that runs first. It casts the inputs of the unit to the dtype in which the unit
   * computes.
   */
  readonly units: ReadonlySet<number>;
  /** The FSDP units, if only some of them compute in the lower dtype. Undefined if all units do. */
  readonly mixed?: MixedUnits | undefined;
}

/** FSDP units, of which only some compute in the lower dtype. */
export interface MixedUnits {
  readonly isLow: ReadonlyMap<number, boolean>;
  /** For each call of such a unit, the tensors from outside that its ops read, as positional or keyword arguments. */
  readonly readFromOutside: ReadonlyMap<number, ReadonlySet<number>>;
  /** Storages of the parameters that are all-gathered in the lower dtype. */
  readonly lowParameters: ReadonlySet<number>;
  /** The units that compute in the parameters' own dtype according to the plan. They cast their inputs to it. */
  readonly castsUp: ReadonlySet<number>;
}
