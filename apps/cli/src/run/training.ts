import { readFileSync } from "node:fs";
import { loadKerasModel } from "@remat/keras-loader";
import { RematError } from "@remat/trace";
import {
  defineModel,
  describeLoss,
  type ModelContext,
  type ModelDefinition,
  optimizerByName,
} from "@remat/tracer/step";
import { importModel } from "../import-model.js";
import { withDefaultLoss } from "./default-loss.js";
import { readBatch } from "./given-batch.js";

/** A model to train, and how: plain data, so that every process can be told. */
export interface TrainingSource {
  readonly kind: "keras" | "module";
  readonly path: string;
  readonly name: string;
  readonly size: "full" | "tiny";
  readonly batch: number | undefined;
  readonly loss: string | undefined;
  readonly optimizer: string | undefined;
  /** A file with inputs and targets. */
  readonly data: string | undefined;
}

/** What runs in a step. */
export interface Training {
  /** Makes the model and its batch. */
  readonly build: (context: ModelContext) => Promise<ModelDefinition>;
  readonly options: { readonly loss?: string; readonly optimizer: string };
}

/**
 * The training that a source describes, alike in every process. Loads neither the hook nor a backend.
 *
 * @throws RematError `MODEL_IMPORT`, `MODEL_EXPORT`, `MODEL_JSON`, `KERAS_…`, `LOSS_UNKNOWN`, `OPTIMIZER_UNKNOWN`
 */
export async function trainingOf(source: TrainingSource): Promise<Training> {
  const { kind, path, name, loss, optimizer, data } = source;
  if (loss !== undefined) describeLoss(loss);
  if (optimizer !== undefined) optimizerByName(optimizer).dispose();
  const exported = kind === "keras" ? () => readKerasModel(path) : await importModel(path);
  const notes: string[] = optimizer === undefined ? [`nothing says how to update the weights: SGD with 0.01 does`] : [];
  return {
    options: { optimizer: optimizer ?? "sgd", ...(loss !== undefined && { loss }) },
    build: async (context) => {
      let definition = await defineModel(exported, context, name);
      if (data !== undefined) definition = { ...definition, ...(await readBatch(data, definition, context)) };
      if (definition.model !== undefined && definition.loss === undefined && loss === undefined)
        definition = withDefaultLoss(definition, context);
      return { ...definition, notes: [...[definition.notes ?? []].flat(), ...notes] };
    },
  };
}

function readKerasModel(path: string): unknown {
  const text = readFileSync(path, "utf8");
  try {
    return loadKerasModel(JSON.parse(text) as object);
  } catch (cause) {
    if (cause instanceof RematError) throw new RematError(cause.code, `${path}: ${cause.message}`, { cause });
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new RematError(
      "MODEL_JSON",
      `${path}: not JSON (${cause.message}). Expected a file as tfjs-layers or Keras writes it.`,
      { cause },
    );
  }
}
