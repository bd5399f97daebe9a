import type { DeviceSpec } from "@remat/trace";
import { asOracleFile } from "./oracle-file.js";

/**
 * Returns the device that the run in an exporter's file was priced on: peak throughput by dtype, bandwidth and allocation unit from its `config`.
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
