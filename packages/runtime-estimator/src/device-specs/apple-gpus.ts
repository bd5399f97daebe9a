import { hostLaunchUs } from "@remat/trace";
import { achievableMemory } from "./achievable.js";
import { allocationUnits } from "./allocation-units.js";
import type { KnownDevice } from "./known-device.js";

/**
 * The GPU of an Apple chip: `cores`, each with 128 float32 lanes that do one multiply-add per clock. float16 runs at
 * the same rate. float64 is emulated and estimated as float32. Memory is shared with the CPU and comes in several
 * sizes, so it is not in the table.
 */
function gpu(name: string, cores: number, clockGHz: number, memoryGBps: number, source: string): KnownDevice {
  const tflops = Math.round(cores * 128 * 2 * clockGHz) / 1000;
  return {
    spec: {
      name,
      tflops: { float32: tflops, float16: tflops },
      memoryGBps,
      achievable: { memory: achievableMemory.gpu },
      launchUs: hostLaunchUs,
      allocationUnitBytes: allocationUnits.host,
      source,
    },
    label: name.replace(/^m/, "M").replace(/-(\w)/, (_, letter: string) => ` ${letter.toUpperCase()}`),
    otherNames: [],
  };
}

const measured = "cores and bandwidth: Apple's specifications; lanes and clock: philipturner/metal-benchmarks";
const listed = "cores and bandwidth: Apple's specifications; lanes and clock: as commonly measured, Apple names none";

/** Each chip with all its GPU cores. */
export const appleGpus: readonly KnownDevice[] = [
  gpu("m1", 8, 1.278, 68.3, measured),
  gpu("m1-pro", 16, 1.296, 200, measured),
  gpu("m1-max", 32, 1.296, 400, measured),
  gpu("m1-ultra", 64, 1.296, 800, measured),
  gpu("m2", 10, 1.398, 100, measured),
  gpu("m2-pro", 19, 1.398, 200, measured),
  gpu("m2-max", 38, 1.398, 400, measured),
  gpu("m2-ultra", 76, 1.398, 800, measured),
  gpu("m3", 10, 1.38, 100, listed),
  gpu("m3-pro", 18, 1.38, 150, listed),
  gpu("m3-max", 40, 1.38, 400, listed),
  gpu("m4", 10, 1.47, 120, listed),
  gpu("m4-pro", 20, 1.578, 273, listed),
  gpu("m4-max", 40, 1.578, 546, listed),
];
