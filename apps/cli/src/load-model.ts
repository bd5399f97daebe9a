import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { RematError } from "@remat/trace";
import { defineModel, type ModelFactory, type StepRequest } from "@remat/tracer/step";
import { importModel } from "./import-model.js";

/** A model, and what was said of its training step: plain data, so that every process can be told. */
export interface StepSource {
  readonly kind: "keras" | "module";
  readonly path: string;
  readonly name: string;
  /** A file with inputs and targets, which take the place of the model's own. */
  readonly data: string | undefined;
  readonly request: StepRequest;
}

/**
 * Loads what a source names as a factory, alike in every process, so that the model is built where its caller wants it. Loads neither the
 * hook nor a backend.
 *
 * @throws RematError `MODEL_IMPORT`, `MODEL_EXPORT`, `MODEL_JSON`; the factory `KERAS_…`, `DATA_FILE`
 */
export async function loadModel({ kind, path, name, data }: Omit<StepSource, "request">): Promise<unknown> {
  const exported = kind === "keras" ? await kerasModel(path) : await importModel(path);
  if (data === undefined) return exported;
  const { readBatch } = await import("./given-batch.js");
  const withData: ModelFactory = async (context) => {
    const definition = await defineModel(exported, context, name);
    return { ...definition, ...(await readBatch(data, definition, context)) };
  };
  return withData;
}

async function kerasModel(path: string): Promise<() => unknown> {
  const { loadKerasModel } = await import("@remat/keras-loader");
  const json = parseJson(path);
  return () => {
    try {
      return loadKerasModel(json as object);
    } catch (cause) {
      throw cause instanceof RematError ? new RematError(cause.code, `${path}: ${cause.message}`, { cause }) : cause;
    }
  };
}

/**
 * Parses JSON.
 *
 * @throws RematError `MODEL_JSON`
 */
export function parseJson(path: string): unknown {
  const bytes = readFileSync(path);
  try {
    return JSON.parse((path.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8"));
  } catch (cause) {
    throw new RematError(
      "MODEL_JSON",
      `${path}: not JSON (${(cause as Error).message}). Expected a file as tfjs-layers or Keras writes it.`,
      { cause },
    );
  }
}
