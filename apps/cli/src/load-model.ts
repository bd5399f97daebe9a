import { defineModel, type ModelFactory, type StepRequest } from "@remat/tracer/step";
import { importerOf, type ModelSource } from "./model-source.js";
import { UsageError } from "./usage-error.js";

/** A model, and what was said of its training step: plain data, so that every process can be told. */
export interface StepSource extends ModelSource<"model"> {
  /** A file with inputs and targets, which take the place of the model's own. */
  readonly data: string | undefined;
  /** A module with layers that a Keras model has besides Keras' own. */
  readonly layers?: string | undefined;
  readonly request: StepRequest;
}

/**
 * Loads what a source names as a factory, alike in every process, so that the model is built where its caller wants it. Loads neither the
 * hook nor a backend.
 *
 * @throws UsageError where the model takes no layers; RematError what its importer throws; the factory `KERAS_…`, `DATA_FILE`
 */
export async function loadModel(source: Omit<StepSource, "request">): Promise<unknown> {
  const { path, name, data, layers } = source;
  const importer = importerOf(source);
  if (layers !== undefined && importer.takesLayers !== true)
    throw new UsageError(
      `--layers ${layers}: ${path} is no Keras model. Leave --layers out: a module makes its layers itself.`,
    );
  const exported = await importer.load(path, layers);
  if (data === undefined) return exported;
  const { readBatch } = await import("./given-batch.js");
  const withData: ModelFactory = async (context) => {
    const definition = await defineModel(exported, context, name);
    return { ...definition, ...(await readBatch(data, definition, context)) };
  };
  return withData;
}
