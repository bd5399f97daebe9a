import { readFileSync } from "node:fs";
import type { NativePackage } from "@remat/dispatch-hook/backends/node";

/** A wheel that has a TensorFlow to build against. */
export interface WheelRequirement {
  readonly project: string;
  readonly version: string;
  /** Its name on the index: that of one build. What it holds of Python does not matter, only its C++ libraries. */
  readonly fileName: string;
  /** Of the whole file, hexadecimal. */
  readonly sha256: string;
  /** Roughly, for the question whether to fetch it. */
  readonly fetchedBytes: number;
  readonly unpackedBytes: number;
}

/** An entry of npm's `package-lock.json`, of which `integrity` is a hash of the tarball. */
type LockEntry = Readonly<Record<string, unknown>>;

/** What is fetched, and the hash that each must have before anything of it is unpacked: `pins.json`, which `pnpm pins` renews. @internal */
export interface Pins {
  /** By processor; for x64 another one with CUDA. */
  readonly wheels: Readonly<Record<"x64" | "x64-gpu" | "arm64", WheelRequirement>>;
  readonly packages: Readonly<Record<NativePackage, LockEntry & { readonly version: string }>>;
  /** What both packages depend on, by the folder into which npm puts it. */
  readonly dependencies: Readonly<Record<string, LockEntry>>;
}

/** @internal */
export const readPins = (): Pins => JSON.parse(readFileSync(new URL("pins.json", import.meta.url), "utf8")) as Pins;

/** The wheel to build against. For arm64 there is one build, without CUDA. @internal */
export const requiredWheel = ({ wheels }: Pins, gpu: boolean, arch: string): WheelRequirement =>
  wheels[arch === "arm64" ? "arm64" : gpu ? "x64-gpu" : "x64"];

/** `package.json` and `package-lock.json` of an application that has nothing but a package and what that depends on, each file with its hash. @internal */
export function lockedApp({ packages, dependencies }: Pins, name: NativePackage): { manifest: string; lock: string } {
  const own = packages[name];
  const needed = { [`@tensorflow/${name}`]: own.version };
  const entries = { "": { dependencies: needed }, [`node_modules/@tensorflow/${name}`]: own, ...dependencies };
  return {
    manifest: `${JSON.stringify({ private: true, description: "Made by remat setup native.", dependencies: needed })}\n`,
    lock: `${JSON.stringify({ lockfileVersion: 3, requires: true, packages: entries })}\n`,
  };
}
