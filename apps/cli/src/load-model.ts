import { defineModel, type ModelFactory, type StepRequest } from "@remat/tracer/step";
import { importerOf, type ModelSource } from "./model-source.js";
import { UsageError } from "./usage-error.js";

/** A model and its training step as plain data, which can be sent to any process. */
export interface StepSource extends ModelSource<"model"> {
  /** A file with inputs and targets that replace the model's own. */
  readonly data: string | undefined;
  /** A module with custom layers for a Keras model. */
  readonly layers?: string | undefined;
  /** A file with weights of a Keras model. */
  readonly weights?: string | undefined;
  readonly request: StepRequest;
}

/**
 * Loads a source as a model factory, in the same way in every process, so that the caller decides where to build the
 * model. Loads neither the hook nor a backend. Weights have the values of their file if these matter (`readsWeights`),
 * otherwise those of their initializers.
 *
 * @throws UsageError if the model accepts no layers or weights; RematError of its importer; the factory throws
 * `KERAS_…`, `DATA_FILE`
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
