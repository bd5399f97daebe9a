import { elementwise, elementwiseWithoutGradient } from "./elementwise.js";
import { imageOps, imageOpsWithoutGradient } from "./image.js";
import { matrixOps, matrixOpsWithoutGradient } from "./matrix.js";
import type { Op } from "./op.js";
import { sequenceOps } from "./sequence.js";
import { volumeOps } from "./volume.js";

export { type Kind, kinds, type Op, shapes } from "./op.js";

/** Every op that a program may train through. */
export const ops: readonly Op[] = [...matrixOps, ...imageOps, ...sequenceOps, ...volumeOps, ...elementwise];

/** Ops that have no gradient. */
export const opsWithoutGradient: readonly Op[] = [
  ...matrixOpsWithoutGradient,
  ...imageOpsWithoutGradient,
  ...elementwiseWithoutGradient,
];
