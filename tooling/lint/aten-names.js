/** Folders in which ATen ops are known by name. */
export const atenHomes = ["packages/pytorch/src/", "packages/runtime-estimator/src/aten/"];

/**
 * Other sources with names of ATen ops, each with the reason. A fact about an op belongs in one of these folders, or in
 * a field of the trace that the importer fills.
 *
 * @type {ReadonlyMap<string, string>}
 */
export const otherAtenNames = new Map([
  ["packages/sharding/src/fsdp-rank.ts", "writes the ops that FSDP2 dispatches into the simulated run"],
  ["packages/sharding/src/cast-copies.ts", "writes the casts of mixed precision into the simulated run"],
  ["packages/sharding/src/accumulated-run.ts", "writes the additions of gradient accumulation into the simulated run"],
  [
    "packages/memory/src/checkpointing/call-parts.ts",
    "asks for the namespace only: an ATen schema lists all effects of its op, and memory imports only trace",
  ],
]);
