import { hostLaunchUs } from "@remat/trace";
import { achievableMemory } from "./achievable.js";
import { allocationUnits } from "./allocation-units.js";
import type { KnownDevice } from "./known-device.js";

/**
 * A GPU in a laptop's processor: `lanes` float32 lanes, each with one multiply-add per clock, and float16 at twice that
 * rate. Memory is shared with the CPU and comes in several sizes, so it is not in the table.
 */
function gpu(label: string, lanes: number, clockGHz: number, memoryGBps: number, source: string): KnownDevice {
  const name = label.toLowerCase().replaceAll(" ", "-");
  const tflops = Math.round(lanes * 2 * clockGHz) / 1000;
  return {
    spec: {
      name,
      tflops: { float32: tflops, float16: 2 * tflops },
      memoryGBps,
      achievable: { memory: achievableMemory.cpu },
      launchUs: hostLaunchUs,
      allocationUnitBytes: allocationUnits.host,
      source,
    },
    label,
    otherNames: [],
  };
}

/** GPUs of common laptop processors, for webgl and webgpu. */
export const integratedGpus: readonly KnownDevice[] = [
  gpu(
    "Iris Xe",
    768,
    1.35,
    68.3,
    "Intel Core i7-1185G7: 96 execution units of 8 lanes, 1.35 GHz; LPDDR4x-4266, 128 bits",
  ),
  gpu("Radeon 780M", 768, 2.7, 89.6, "AMD Ryzen 7 7840U: 12 compute units of 64 lanes, 2.7 GHz; DDR5-5600, 128 bits"),
];
