import type { DeviceSpec } from "@remat/trace";
import { asOracleFile } from "./oracle-file.js";

/**
 * Returns the device for which the times in a file of the exporter were estimated. Peak throughput by dtype, bandwidth
 * and allocation unit come from its `config`.
 *
 * @throws RematError `PYTORCH_FILE`, `PYTORCH_SCHEMA`
 * @example
 * const priced = priceTrace(readPyTorchTrace(file), pyTorchDevice(file));
 */
export function pyTorchDevice(file: unknown): DeviceSpec {
  const { config } = asOracleFile(file);
  return {
    name: config.device,
    tflops: config.tflops,
    memoryGBps: config.dram_gbps,
    allocationUnitBytes: config.min_allocate,
    source: `the exporter's config, torch ${config.torch}`,
  };
}
