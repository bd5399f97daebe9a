import { readFileSync } from "node:fs";
import type { NativePackage } from "@remat/dispatch-hook/backends/node";

/** A wheel that contains a TensorFlow to build against. */
export interface WheelRequirement {
  /** Name of the project on the index. */
  readonly project: string;
  /** Version of the project. */
  readonly version: string;
  /** File name of one build on the index. Its Python version does not matter, only its C++ libraries. */
  readonly fileName: string;
  /** SHA-256 of the whole file, hexadecimal. */
  readonly sha256: string;
  /** Approximate size of the file, for the question whether to download it. */
  readonly fetchedBytes: number;
  /** Approximate size of its unpacked content. */
  readonly unpackedBytes: number;
}

/** An entry of npm's `package-lock.json`. `integrity` is a hash of the tarball. */
type LockEntry = Readonly<Record<string, unknown>>;

/**
 * Downloads, each with the hash that it must have before it is unpacked. Stored in `pins.json`, which `pnpm pins`
 * updates.
 *
 * @internal
 */
export interface Pins {
  /** By processor. For x64 there is another one with CUDA. */
  readonly wheels: Readonly<Record<"x64" | "x64-gpu" | "arm64", WheelRequirement>>;
  readonly packages: Readonly<Record<NativePackage, LockEntry & { readonly version: string }>>;
  /** Dependencies of both packages, by npm's folder for each. */
  readonly dependencies: Readonly<Record<string, LockEntry>>;
}

/** @internal */
export const readPins = (): Pins => JSON.parse(readFileSync(new URL("pins.json", import.meta.url), "utf8")) as Pins;

/**
 * The wheel to build against. For arm64 there is a single build, without CUDA.
 *
 * @internal
 */
export const requiredWheel = ({ wheels }: Pins, gpu: boolean, arch: string): WheelRequirement =>
  wheels[arch === "arm64" ? "arm64" : gpu ? "x64-gpu" : "x64"];

/**
 * `package.json` and `package-lock.json` of an application that contains only a package and its dependencies, each with
 * its hash.
 *
 * @internal
 */
export function lockedApp({ packages, dependencies }: Pins, name: NativePackage): { manifest: string; lock: string } {
  const own = packages[name];
  const needed = { [`@tensorflow/${name}`]: own.version };
  const entries = { "": { dependencies: needed }, [`node_modules/@tensorflow/${name}`]: own, ...dependencies };
  return {
    manifest: `${JSON.stringify({ private: true, description: "Made by remat setup native.", dependencies: needed })}\n`,
    lock: `${JSON.stringify({ lockfileVersion: 3, requires: true, packages: entries })}\n`,
  };
}
