import { ownField } from "../json.js";
import { absent, type Match, matchInOrder } from "./match.js";
import type { StoredArray, StoredObject } from "./stored-weights.js";
import { innerLayers, layersOf, outerWeights, type WeightedLayer } from "./weighted-layer.js";

/** Fields with layers whose weights belong to the outer layer in TensorFlow.js, in the order of these weights. */
const fieldsInOrder = ["query_dense", "key_dense", "value_dense", "output_dense"];

/** Classes whose name in Python differs from that in a file. */
const namesOfClasses: Readonly<Record<string, string>> = {
  Model: "Functional",
  GroupQueryAttention: "GroupedQueryAttention",
};

/** Random generators have a state that is not a weight. */
const isGenerator = (field: string): boolean => /generator$/.test(field);

/**
 * Matches weights with a Keras 3 file, in which objects are stored by field name, or in a list by class name and
 * number.
 */
export function matchObjects(weighted: WeightedLayer, object: StoredObject, path: string): readonly Match[] {
  const layers = layersOf(weighted);
  if (layers !== undefined) return matchList(layers, object.objects.get("layers"), joined(path, "layers"));
  const inner = innerLayers(weighted);
  const fields = new Set(inner.map(([field]) => field));
  const weights = outerWeights(weighted);
  const arrays = arraysOf(object, fields);
  // If a weight of the inner layer is also a field of the wrapper, it is saved twice. The copies come first.
  const twice = inner.length === 0 ? 0 : Math.max(0, arrays.length - weights.length);
  const own = matchInOrder(weighted.layer, weights, arrays.slice(twice), path);
  const ofInner = inner.flatMap(([field, held]) => {
    const stored = object.objects.get(field);
    const at = joined(path, field);
    if (field === "cells") return matchList(held, stored, at);
    return held.flatMap((each) => matchOne(each, stored, at));
  });
  return [...own, ...ofInner];
}

function matchList(layers: readonly WeightedLayer[], list: StoredObject | undefined, path: string): readonly Match[] {
  const used = new Map<string, number>();
  return layers.flatMap((each) => {
    const name = fieldName(each);
    const count = used.get(name) ?? 0;
    used.set(name, count + 1);
    const numbered = count === 0 ? name : `${name}_${count}`;
    return matchOne(each, list?.objects.get(numbered), joined(path, numbered));
  });
}

function matchOne(weighted: WeightedLayer, object: StoredObject | undefined, path: string): readonly Match[] {
  const { layer } = weighted;
  if (layer.weights.length === 0) return [];
  if (object === undefined) throw absent(layer, path);
  return matchObjects(weighted, object, path);
}

/** Keras' `to_snake_case` of a class name. */
function fieldName({ file: { className } }: WeightedLayer): string {
  return (ownField(namesOfClasses, className) ?? className)
    .replace(/\W+/g, "")
    .replace(/(.)([A-Z][a-z]+)/g, "$1_$2")
    .replace(/([a-z])([A-Z])/g, "$1_$2")
    .toLowerCase();
}

/** Returns the arrays of an object and its nested objects, except for fields that are matched separately. */
function arraysOf({ arrays, objects }: StoredObject, except: ReadonlySet<string>): readonly StoredArray[] {
  const place = (field: string): number => fieldsInOrder.indexOf(field.replace(/^_/, ""));
  const inner = [...objects]
    .filter(([field]) => !except.has(field) && !isGenerator(field))
    .sort(([a], [b]) => place(a) - place(b));
  return [...arrays, ...inner.flatMap(([, object]) => arraysOf(object, new Set()))];
}

const joined = (path: string, field: string): string => (path === "" ? field : `${path}/${field}`);
