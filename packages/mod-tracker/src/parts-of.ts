import { isPlainObject } from "@remat/trace";
import { type ForwardModule, hasForward, type Part } from "./forward-module.js";
import { isContainer, isLayer } from "./layer-internals.js";

/** Fields of tfjs-layers that lead to other layers, but not to parts of this one. */
const notParts: ReadonlySet<string> = new Set(["inboundNodes", "outboundNodes", "inputs", "outputs", "model"]);

/**
 * Returns the parts of a module: layers, and objects that contain layers and call them in their `forward`. The names go
 * into their FQN. Layers of a container have their own names. Other parts are named by their attribute (`cell`,
 * `forwardLayer`) and the position in lists, plain objects, Maps and Sets (`cells.0`, `blocks.first`).
 */
export function partsOf(module: Part): [name: string, part: Part][] {
  return partsAmong(module, new Set([module]));
}

/** Returns whether a value is an object that contains layers, at any depth, and has a `forward` method. */
export function isForwardModule(value: unknown): value is ForwardModule {
  return isForwardModuleBeside(value, new Set());
}

function isForwardModuleBeside(value: unknown, around: ReadonlySet<object>): value is ForwardModule {
  if (typeof value !== "object" || value === null || isLayer(value) || around.has(value) || !hasForward(value))
    return false;
  return partsAmong(value, new Set([...around, value])).length > 0;
}

/** @param around objects that contain the module, which it may reference */
function partsAmong(module: Part, around: ReadonlySet<object>): [name: string, part: Part][] {
  if (isLayer(module) && isContainer(module)) return module.layers.map((part) => [part.name, part]);
  const parts: [string, Part][] = [];
  const seen = new Set<object>(around);
  const collect = (name: string, value: unknown) => {
    if (isLayer(value) || isForwardModuleBeside(value, around)) {
      parts.push([name, value]);
      return;
    }
    // Most lists are shapes and the like. Lists without objects need not be remembered.
    if (typeof value !== "object" || value === null || seen.has(value)) return;
    seen.add(value);
    for (const [place, item] of placesIn(value))
      if (typeof item === "object" && item !== null) collect(`${name}.${place}`, item);
  };
  for (const [name, value] of Object.entries(module))
    if (!isLayer(module) || !notParts.has(name)) collect(name.replace(/^_+/, ""), value);
  return parts;
}

/**
 * Yields the items of a list, plain object, Map or Set with their position. Other objects are not collections and yield
 * nothing.
 */
function* placesIn(collection: object): Generator<[place: string, item: unknown]> {
  if (Array.isArray(collection) || collection instanceof Set) {
    let place = 0;
    for (const item of collection) yield [String(place++), item];
  } else if (collection instanceof Map) {
    let place = 0;
    for (const [key, item] of collection) {
      yield [typeof key === "string" || typeof key === "number" ? componentOf(String(key)) : String(place), item];
      place++;
    }
  } else if (isPlainObject(collection)) {
    for (const [key, item] of Object.entries(collection)) yield [componentOf(key), item];
  }
}

/** A dot would look like a nested module. */
const componentOf = (key: string): string => key.replaceAll(".", "_");
