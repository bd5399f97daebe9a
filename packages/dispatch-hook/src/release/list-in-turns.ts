import type { Tensor } from "@tensorflow/tfjs-core";
import type { NamedTensor } from "../engine-records.js";

/** Calls `update` for each index in a list of weights, in any order. */
export type TakeTurns = (update: (place: number) => void) => void;

/**
 * Returns a list of gradients for the seven optimizers of TensorFlow.js, whose order `takeTurns` decides. Each
 * optimizer maps the list to names and iterates over them with `forEach`, using the index to find the slots. A gradient
 * is read when it is its turn.
 *
 * @example
 * sgd.applyGradients(listInTurns(["w", "b"], (place) => gradients[place], (update) => [1, 0].forEach(update)));
 */
export function listInTurns(
  names: readonly string[],
  gradientAt: (place: number) => Tensor | undefined,
  takeTurns: TakeTurns,
): NamedTensor[] {
  const list = names.map((name, place) => ({
    name,
    get tensor() {
      return gradientAt(place) as Tensor;
    },
  }));
  const map = <T>(of: (each: NamedTensor, place: number, all: NamedTensor[]) => T): T[] => {
    const mapped = Array.from(list, (each, place) => of(each, place, list));
    const forEach = (update: (each: T, place: number, all: T[]) => void): void =>
      takeTurns((place) => update(mapped[place], place, mapped));
    return Object.defineProperty(mapped, "forEach", { value: forEach });
  };
  return Object.defineProperty(list, "map", { value: map });
}
