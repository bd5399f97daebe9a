import type { FloatIslands } from "./own-casts.js";

/** What is known of the modules in which casts are looked for. */
export interface CastScope {
  /** What computes in float32 among what does not. */
  readonly islands?: FloatIslands | undefined;
  readonly root: number;
  /** Modules whose outputs are cast to a wider dtype. */
  readonly castModules: ReadonlyMap<number, string>;
  /** Of each unit the module that runs first, which casts what it is given to the dtype that the unit computes in. */
  readonly units: ReadonlySet<number>;
  /** Where only some compute in the lower dtype: all sharded modules, and whether each does. Undefined where all do. */
  readonly mixed?: MixedUnits | undefined;
}

/** Sharded modules of which only some compute in the lower dtype. */
export interface MixedUnits {
  readonly isLow: ReadonlyMap<number, boolean>;
  /** By call of one: tensors from outside that its ops read, given to it as hooks see or by keyword. */
  readonly readFromOutside: ReadonlyMap<number, ReadonlySet<number>>;
  /** Storages of the parameters that are gathered in the lower dtype. */
  readonly lowParameters: ReadonlySet<number>;
  /** Those of which a plan says that they compute in the parameters' own dtype, to which they cast what they are given. */
  readonly castsUp: ReadonlySet<number>;
}
