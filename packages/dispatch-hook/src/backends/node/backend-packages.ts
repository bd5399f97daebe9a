import type { Backend, BackendPackage } from "../backend.js";
import { bestFirst } from "../best-first.js";

/** A package and the backend that it provides. */
export interface BroughtBackend {
  /** The package. */
  readonly package: BackendPackage;
  /** The backend. */
  readonly backend: Backend;
}

/**
 * Returns everything that `selectBackend` tries, in order: the packages of all known backends, the best first.
 *
 * @example
 * backendPackages().map((each) => each.package.name); // ["@tensorflow/tfjs-node-gpu", "@tensorflow/tfjs-node", …]
 */
export function backendPackages(): readonly BroughtBackend[] {
  return bestFirst().flatMap((backend) => (backend.packages ?? []).map((each) => ({ package: each, backend })));
}

/**
 * Returns the package of that name, as a backend describes it. Undefined if no backend has it.
 *
 * @example
 * findPackage("@tensorflow/tfjs-node").built.by; // "remat setup native"
 */
export function findPackage(name: string): BackendPackage | undefined {
  return backendPackages().find((each) => each.package.name === name)?.package;
}
