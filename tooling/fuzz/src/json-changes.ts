import fc from "fast-check";

type Container = Record<string, unknown>;

/** A change to a JSON value: the action, the number of a place, and another value or place. */
export interface JsonChange {
  readonly does: "remove" | "replace" | "nudge" | "duplicate" | "swap" | "move" | "copy" | "cut";
  readonly place: number;
  readonly other: number;
  readonly value: unknown;
}

const wrongValues = [null, -1, 0, 1, 3, 0.5, 1e18, "", "x", true, [], {}, [0], { op: 0, output: 0 }];

/** Changes to any field, the order, or the number of elements in a JSON value. */
export const jsonChanges: fc.Arbitrary<readonly JsonChange[]> = fc.array(
  fc.record({
    does: fc.constantFrom("remove", "replace", "nudge", "nudge", "duplicate", "swap", "move", "copy", "cut"),
    place: fc.nat(1e6),
    other: fc.nat(1e6),
    value: fc.constantFrom(...wrongValues),
  }),
  { minLength: 1, maxLength: 3 },
);

/** Returns a changed copy of a JSON value. */
export function changeJson<T>(value: T, changes: readonly JsonChange[]): T {
  const changed = structuredClone(value);
  for (const change of changes) apply(changed, change);
  return changed;
}

/** Every place below a value: its container, and its key there. */
function placesIn(value: unknown, found: [Container, string][] = []): [Container, string][] {
  if (typeof value === "object" && value !== null)
    for (const key of Object.keys(value)) {
      found.push([value as Container, key]);
      placesIn((value as Container)[key], found);
    }
  return found;
}

function apply(root: unknown, { does, place, other, value }: JsonChange): void {
  const places = placesIn(root);
  if (places.length === 0) return;
  const [holder, key] = places[place % places.length];
  const now = holder[key];
  switch (does) {
    case "remove":
      if (Array.isArray(holder)) holder.splice(Number(key), 1);
      else delete holder[key];
      break;
    case "replace":
      holder[key] = structuredClone(value);
      break;
    case "nudge":
      if (typeof now === "number") holder[key] = now + ((other % 7) - 3);
      else if (typeof now === "boolean") holder[key] = !now;
      else if (typeof now === "string")
        holder[key] = `${now.slice(0, other % (now.length + 1))}${other % 3 === 0 ? "x" : ""}`;
      break;
    case "duplicate":
      if (Array.isArray(holder)) holder.splice(other % (holder.length + 1), 0, structuredClone(now));
      break;
    case "swap":
      if (Array.isArray(holder)) {
        const to = other % holder.length;
        [holder[Number(key)], holder[to]] = [holder[to], now];
      }
      break;
    case "move":
      if (Array.isArray(holder)) holder.splice(other % holder.length, 0, ...holder.splice(Number(key), 1));
      break;
    case "copy": {
      const [otherHolder, otherKey] = places[other % places.length];
      holder[key] = structuredClone(otherHolder[otherKey]);
      break;
    }
    default:
      if (Array.isArray(now)) now.length = other % (now.length + 1);
  }
}
