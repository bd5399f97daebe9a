import { cudaSnapshotImporter } from "./cuda-snapshot.js";
import { esModuleImporter } from "./es-module.js";
import { fxGraphsImporter } from "./fx-graphs.js";
import { graphImporter } from "./graph.js";
import { graphModelImporter } from "./graph-model.js";
import type { Importer } from "./importer.js";
import { kerasImporter } from "./keras.js";
import { planImporter } from "./plan.js";
import { pyTorchImporter } from "./pytorch.js";
import { traceImporter } from "./trace.js";

/** All importers. The first that recognises a file reads it. To add one, add its file and a line here. */
export const importers: readonly Importer[] = [
  esModuleImporter,
  traceImporter,
  cudaSnapshotImporter,
  fxGraphsImporter,
  pyTorchImporter,
  graphImporter,
  planImporter,
  graphModelImporter,
  kerasImporter,
];
