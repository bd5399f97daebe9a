import { extname } from "node:path";
import { pathToFileURL } from "node:url";
import { parseJsonText, RematError } from "@remat/trace";
import { readInputText } from "@remat/trace/files";
import type { ModelContext, ModelDefinition } from "@remat/tracer/step";
import { Tensor, type TensorLike } from "@tensorflow/tfjs-core";

type Batch = Pick<ModelDefinition, "inputs" | "targets">;

/**
 * Reads one batch from a file, to replace the model's own. The file is JSON `{ "inputs": …, "targets": … }`, where each
 * is a nested list of numbers, or for several tensors a list of `{ "values": …, "shape": …, "dtype": … }`.
 * Alternatively it is an ES module whose default export, called with the arguments of a model module, returns the same
 * as tensors.
 *
 * @throws RematError `DATA_FILE`
 */
export async function readBatch(path: string, definition: ModelDefinition, context: ModelContext): Promise<Batch> {
  const { inputs, targets } = (extname(path) === ".json" ? readJson(path) : await callModule(path, context)) as {
    inputs?: unknown;
    targets?: unknown;
  };
  if (inputs === undefined) throw wrong(path, "the field 'inputs' is missing");
  const batch = tensorsOf(path, "inputs", inputs, context);
  context.tf.dispose([definition.inputs, targets === undefined ? [] : (definition.targets ?? [])] as Tensor[]);
  return { inputs: batch, ...(targets !== undefined && { targets: tensorsOf(path, "targets", targets, context) }) };
}

function readJson(path: string): object {
  try {
    return (parseJsonText(readInputText(path)) as object | null) ?? {};
  } catch (cause) {
    throw wrong(path, `cannot be read as JSON: ${(cause as Error).message}`, cause);
  }
}

async function callModule(path: string, context: ModelContext): Promise<object> {
  const { default: make } = (await import(pathToFileURL(path).href)) as { default?: unknown };
  if (typeof make !== "function") throw wrong(path, "its default export is not a function");
  return ((await (make as (context: ModelContext) => unknown)(context)) ?? {}) as object;
}

function tensorsOf(path: string, field: string, value: unknown, context: ModelContext): Tensor | Tensor[] {
  const isList = Array.isArray(value) && value.some((item) => typeof item === "object" && !Array.isArray(item));
  return isList ? value.map((item) => tensorOf(path, field, item, context)) : tensorOf(path, field, value, context);
}

function tensorOf(path: string, field: string, value: unknown, { tf }: ModelContext): Tensor {
  if (value instanceof Tensor) return value;
  const { values, shape, dtype } = Array.isArray(value)
    ? { values: value, shape: undefined, dtype: undefined }
    : (value as { values?: TensorLike; shape?: number[]; dtype?: "float32" | "int32" | "bool" });
  try {
    return tf.tensor(values as TensorLike, shape, dtype);
  } catch (cause) {
    throw wrong(path, `field '${field}': ${(cause as Error).message}`, cause);
  }
}

function wrong(path: string, detail: string, cause?: unknown): RematError {
  return new RematError(
    "DATA_FILE",
    `${path}: ${detail}. Expected { "inputs": [[…]], "targets": [[…]] }, or a module that returns tensors with these names.`,
    { cause },
  );
}
