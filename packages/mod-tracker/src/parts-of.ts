import { isContainer, isLayer, type Layer } from "./layer-internals.js";

/** Bookkeeping of tfjs-layers that leads to other layers, but not to parts of this one. */
const notParts: ReadonlySet<string> = new Set(["inboundNodes", "outboundNodes", "inputs", "outputs", "model"]);

/**
 * Returns the layers that `layer` is made of, by the names that go into their FQN: those of a container by their own names, else by the attribute
 * that holds them (`cell`, `forwardLayer`), and the places in lists, plain objects, Maps and Sets in it (`cells.0`, `blocks.first`).
 */
export function partsOf(layer: Layer): [name: string, part: Layer][] {
  if (isContainer(layer)) return layer.layers.map((part) => [part.name, part]);
  const parts: [string, Layer][] = [];
  const seen = new Set<object>();
  const collect = (name: string, value: unknown) => {
    if (isLayer(value)) {
      parts.push([name, value]);
      return;
    }
    // Most lists are shapes and the like; none is worth remembering that has no place for a layer.
    if (typeof value !== "object" || value === null || seen.has(value)) return;
    seen.add(value);
    for (const [place, item] of placesIn(value))
      if (typeof item === "object" && item !== null) collect(`${name}.${place}`, item);
  };
  for (const [name, value] of Object.entries(layer)) if (!notParts.has(name)) collect(name.replace(/^_+/, ""), value);
  return parts;
}

/** What a list, a plain object, a Map or a Set holds, by its place; nothing of any other object, which is no mere collection. */
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
  } else if (isPlain(collection)) {
    for (const [key, item] of Object.entries(collection)) yield [componentOf(key), item];
  }
}

/** A dot would look like a module inside a module. */
const componentOf = (key: string): string => key.replaceAll(".", "_");

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  // An object of another realm has another `Object.prototype`, which has no prototype either.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
