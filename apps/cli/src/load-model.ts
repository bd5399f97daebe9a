import { defineModel, type ModelFactory, type StepRequest } from "@remat/tracer/step";
import { importerOf, type ModelSource } from "./model-source.js";
import { UsageError } from "./usage-error.js";

/** A model, and what was said of its training step: plain data, so that every process can be told. */
export interface StepSource extends ModelSource<"model"> {
  /** A file with inputs and targets, which take the place of the model's own. */
  readonly data: string | undefined;
  /** A module with layers that a Keras model has besides Keras' own. */
  readonly layers?: string | undefined;
  /** A file with weights of a Keras model. */
  readonly weights?: string | undefined;
  readonly request: StepRequest;
}

/**
 * Loads what a source names as a factory, alike in every process, so that the model is built where its caller wants it. Loads neither the
 * hook nor a backend. Weights have the values of their file where these matter (`readsWeights`), else what their initializers give.
 *
 * @throws UsageError where the model takes no layers or weights; RematError what its importer throws; the factory `KERAS_…`, `DATA_FILE`
 */
export async function loadModel(
  source: Omit<StepSource, "request">,
  { readsWeights = false }: { readonly readsWeights?: boolean } = {},
): Promise<unknown> {
  const { path, name, data, layers, weights } = source;
  const importer = importerOf(source);
  for (const [part, file] of Object.entries({ layers, weights }))
    if (file !== undefined && importer.takesParts !== true)
      throw new UsageError(
        `--${part} ${file}: ${path} is not a Keras model, and a module makes its own ${part}. Remove --${part}.`,
      );
  const exported = await importer.load(path, { layers, weights, readsWeights });
  if (data === undefined) return exported;
  const { readBatch } = await import("./given-batch.js");
  const withData: ModelFactory = async (context) => {
    const definition = await defineModel(exported, context, name);
    return { ...definition, ...(await readBatch(data, definition, context)) };
  };
  return withData;
}
