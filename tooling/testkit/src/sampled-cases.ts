import { atNight } from "./at-night.js";

/**
 * Returns every n-th case, from `offset` on, so that each change runs a sample. At night it returns all of them. Use it
 * if each case takes long and tests the same code as its neighbours.
 */
export function sampledCases<Case>(cases: readonly Case[], n: number, offset = 0): Case[] {
  return cases.filter((_, i) => atNight || (i + offset) % n === 0);
}
