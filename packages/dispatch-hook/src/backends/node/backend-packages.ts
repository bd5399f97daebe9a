import type { Backend, BackendPackage } from "../backend.js";
import { bestFirst } from "../best-first.js";

/** A package, and what it brings. */
export interface BroughtBackend {
  readonly package: BackendPackage;
  readonly backend: Backend;
}

/**
 * Returns all that `selectBackend` tries, in this order: the packages of every backend that is known, the best first.
 *
 * @example
 * backendPackages().map((each) => each.package.name); // ["@tensorflow/tfjs-node-gpu", "@tensorflow/tfjs-node", …]
 */
export function backendPackages(): readonly BroughtBackend[] {
  return bestFirst().flatMap((backend) => (backend.packages ?? []).map((each) => ({ package: each, backend })));
}

/**
 * Returns what a backend says of the package of that name; undefined if none names it.
 *
 * @example
 * findPackage("@tensorflow/tfjs-node").built.by; // "remat setup native"
 */
export function findPackage(name: string): BackendPackage | undefined {
  return backendPackages().find((each) => each.package.name === name)?.package;
}
