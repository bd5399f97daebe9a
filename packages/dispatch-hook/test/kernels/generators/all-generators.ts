import { arrayGenerators, tilingGenerators } from "./arrays.js";
import { convolutionGenerators } from "./convolution.js";
import { elementwiseGenerators } from "./elementwise.js";
import { imageGenerators, normalizationGenerators } from "./images.js";
import { indexingGenerators } from "./indexing.js";
import type { Generators } from "./kernel-case.js";
import { matmulGenerators } from "./matmul.js";
import { creationGenerators, raggedSparseGenerators, spectralGenerators, stringGenerators } from "./others.js";
import { poolingGenerators } from "./pooling.js";
import { reductionGenerators } from "./reductions.js";

export const allGenerators: Generators = {
  ...arrayGenerators,
  ...convolutionGenerators,
  ...creationGenerators,
  ...elementwiseGenerators,
  ...imageGenerators,
  ...indexingGenerators,
  ...matmulGenerators,
  ...normalizationGenerators,
  ...poolingGenerators,
  ...raggedSparseGenerators,
  ...reductionGenerators,
  ...spectralGenerators,
  ...stringGenerators,
  ...tilingGenerators,
};
