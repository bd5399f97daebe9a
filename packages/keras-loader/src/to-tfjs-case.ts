import { isObject, type JsonObject } from "./json.js";

/** Fields whose strings are names, not words of the vocabulary. */
const nameFields = new Set(["name", "class_name", "registered_name", "module"]);

/**
 * Renames the fields and enumerated values of a layer's configuration for tfjs-layers: `data_format: "channels_last"`
 * becomes `dataFormat: "channelsLast"`. tfjs-layers does the same when it reads a model, but does not export the
 * function.
 */
export function toTfjsCase(config: JsonObject): JsonObject {
  const converted: JsonObject = {};
  for (const [field, value] of Object.entries(config)) {
    converted[camelCase(field)] = nameFields.has(field) ? value : convert(value);
  }
  return converted;
}

function convert(value: unknown): unknown {
  if (typeof value === "string") return camelCase(value);
  if (Array.isArray(value)) return value.map(convert);
  return isObject(value) ? toTfjsCase(value) : value;
}

function camelCase(text: string): string {
  return text.replace(/_+(\w|$)/g, (_match, letter: string) => letter.toUpperCase());
}
