import { RematError } from "@remat/trace";
import { isSize } from "./check-sizes.js";
import { show } from "./json.js";
import type { LayerEntry } from "./layer-note.js";

type InputShape = readonly (number | null)[];

/** Changes a model's input shape: in its input layers, or in the first layer of a Sequential without input layers. */
export function overrideInputShape(model: LayerEntry, shape: InputShape | Readonly<Record<string, InputShape>>): void {
  const inputs = inputEntries(model);
  const byName = Array.isArray(shape)
    ? { [inputs[0]?.name ?? ""]: shape as InputShape }
    : (shape as Readonly<Record<string, InputShape>>);
  if (Array.isArray(shape) && inputs.length !== 1) {
    throw mismatch(
      `the model has ${inputs.length} inputs (${names(inputs)}), and only one shape was given`,
      "Give the shapes by name.",
    );
  }
  for (const [name, sizes] of Object.entries(byName)) {
    const input = inputs.find((candidate) => candidate.name === name);
    if (input === undefined) throw mismatch(`the model has no input '${name}'`, `Its inputs are ${names(inputs)}.`);
    const own = input.config["batchInputShape"] as InputShape;
    if (own.length !== sizes.length + 1) {
      throw mismatch(
        `input '${name}' has ${own.length - 1} dimensions besides the batch, and ${sizes.length} were given`,
        "Give one size for each.",
      );
    }
    if (!sizes.every((size) => size === null || isSize(size)))
      throw mismatch(`${show(sizes)} was given`, "Give whole numbers of at least 1, or null for an unknown size.");
    input.config["batchInputShape"] = [own[0] ?? null, ...sizes];
  }
}

function inputEntries(model: LayerEntry): LayerEntry[] {
  const layers = model.config["layers"] as LayerEntry[];
  if (model.className !== "Sequential") {
    const wanted = new Set((model.config["inputLayers"] as [string][]).map(([name]) => name));
    return layers.filter((layer) => wanted.has(layer.name));
  }
  const first = layers[0] as LayerEntry;
  return first.config["batchInputShape"] === undefined && first.config["layers"] !== undefined
    ? inputEntries(first)
    : [first];
}

function names(inputs: readonly LayerEntry[]): string {
  return inputs.map((input) => `'${input.name}'`).join(", ");
}

function mismatch(what: string, next: string): RematError {
  return new RematError("KERAS_INPUT_SHAPE", `Cannot set the input shape: ${what}. ${next}`);
}
