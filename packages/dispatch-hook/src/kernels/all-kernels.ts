import { arrayKernels } from "./arrays.js";
import { convolutionKernels } from "./convolution.js";
import { creationKernels } from "./creation.js";
import { elementwiseKernels } from "./elementwise.js";
import { imageKernels } from "./images.js";
import { indexingKernels } from "./indexing.js";
import type { Infer, InferTable } from "./infer.js";
import { matmulKernels } from "./matmul.js";
import { normalizationKernels } from "./normalization.js";
import { poolingKernels } from "./pooling.js";
import { raggedSparseKernels } from "./ragged-sparse.js";
import { reductionKernels } from "./reductions.js";
import { spectralKernels } from "./spectral.js";
import { stringKernels } from "./strings.js";
import { tilingKernels } from "./tiling.js";

const families: readonly InferTable[] = [
  arrayKernels,
  convolutionKernels,
  creationKernels,
  elementwiseKernels,
  imageKernels,
  indexingKernels,
  matmulKernels,
  normalizationKernels,
  poolingKernels,
  raggedSparseKernels,
  reductionKernels,
  spectralKernels,
  stringKernels,
  tilingKernels,
];

/** Every kernel of a TensorFlow.js backend, with the rule for its outputs. */
export const allKernels: ReadonlyMap<string, Infer> = new Map(families.flatMap((family) => Object.entries(family)));
