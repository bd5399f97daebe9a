import { hostLaunchUs } from "@remat/trace";
import { achievableMemory } from "./achievable.js";
import { allocationUnits } from "./allocation-units.js";
import type { KnownDevice } from "./known-device.js";

/** A CPU with `cores` at `clockGHz`. Each core has two fused multiply-add units with `lanes` float32 lanes. */
function cpu(
  name: string,
  size: { readonly cores: number; readonly clockGHz: number; readonly lanes: number },
  memoryGBps: number,
  source: string,
  otherNames: readonly string[] = [],
): KnownDevice {
  const float32 = (size.cores * size.clockGHz * size.lanes * 2 * 2) / 1000;
  return {
    spec: {
      name,
      tflops: { float64: float32 / 2, float32 },
      memoryGBps,
      achievable: { memory: achievableMemory.cpu },
      launchUs: hostLaunchUs,
      allocationUnitBytes: allocationUnits.host,
      source,
    },
    label: name,
    otherNames,
  };
}

const fma = "two FMA units a core (Intel 64 and IA-32 Optimization Reference Manual)";

/** Round figures for a kind of machine, not for a product. Your own spec is more accurate. */
export const cpus: readonly KnownDevice[] = [
  cpu("cpu", { cores: 8, clockGHz: 3, lanes: 8 }, 51.2, `8 AVX2 cores at 3 GHz, ${fma}; two channels of DDR4-3200`, [
    "generic-cpu",
  ]),
  cpu(
    "cpu-core",
    { cores: 1, clockGHz: 3, lanes: 8 },
    12.8,
    `1 AVX2 core at 3 GHz, ${fma}; 12 lines of 64 B in flight, 60 ns each`,
  ),
  cpu(
    "cpu-server",
    { cores: 32, clockGHz: 2.5, lanes: 16 },
    204.8,
    `32 AVX-512 cores at 2.5 GHz, ${fma}; eight channels of DDR4-3200`,
  ),
];
