import { RematError } from "@remat/trace";
import { describe, expect, test } from "vitest";
import type { DiscreteGpu } from "../src/device-specs/discrete-gpu.js";
import { allocationUnits, deviceLabel, deviceSpec, deviceSpecs, parseDeviceSpec } from "../src/index.js";

describe("the device table", () => {
  test.each(Object.entries(deviceSpecs))("%s is whole", (name, spec) => {
    expect(spec.name).toBe(name);
    expect(spec.source).toMatch(/\w{5}/);
    expect(parseDeviceSpec(structuredClone(spec))).toEqual(spec);
  });

  test("every device has a label for sentences", () => {
    for (const name of Object.keys(deviceSpecs)) expect(deviceLabel(name)).toBeDefined();
    const labels = ["a100-40gb", "l40s", "rtx-4090", "mi300x", "m1", "m4-max", "iris-xe", "radeon-780m", "cpu-core"];
    expect(labels.map(deviceLabel)).toEqual([
      "A100 40GB",
      "L40S",
      "RTX 4090",
      "MI300X",
      "M1",
      "M4 Max",
      "Iris Xe",
      "Radeon 780M",
      "cpu-core",
    ]);
    expect(deviceLabel("mine")).toBeUndefined();
  });

  test("a GPU without a link speed or a source does not compile", () => {
    const gpu = { name: "new", peaks: { fp64: 1, fp32: 2, fp16: 4 }, memoryGBps: 100, memoryGiB: 8 } as const;
    const whole: DiscreteGpu = { ...gpu, pcie: 5, node: "none", source: "its datasheet" };
    // @ts-expect-error: no generation of PCI Express
    const unlinked: DiscreteGpu = { ...gpu, node: "none", source: "its datasheet" };
    // @ts-expect-error: nothing about its node
    const unjoined: DiscreteGpu = { ...gpu, pcie: 5, source: "its datasheet" };
    // @ts-expect-error: no source
    const unsourced: DiscreteGpu = { ...gpu, pcie: 5, node: "none" };
    expect([whole, unlinked, unjoined, unsourced]).toHaveLength(4);
  });

  test("every name that people ask by is of one device", () => {
    const names = ["a100-80gb", "a100-sxm", "h100-sxm", "h200-sxm", "v100-32gb", "v100-sxm2", "generic-cpu"];
    expect(names.map((name) => deviceSpec(name).name)).toEqual(["a100", "a100", "h100", "h200", "v100", "v100", "cpu"]);
  });

  test("holds the devices that people ask for", () => {
    const wanted = [
      "a100",
      "a100-40gb",
      "h100",
      "h100-pcie",
      "h200",
      "l4",
      "t4",
      "v100",
      "a10",
      "l40s",
      "b200",
      "rtx-4090",
      "rtx-5090",
      "mi300x",
      "iris-xe",
      "m1",
      "m2-max",
      "m3-pro",
      "m4-max",
      "cpu",
    ];
    for (const name of wanted) expect(deviceSpec(name).name).toBe(name);
  });

  test("the A100's figures are those that PyTorch's goldens were made with", () => {
    expect(deviceSpec("a100")).toMatchObject({
      tflops: { float64: 19.5, float32: 19.5, float16: 312, bfloat16: 312 },
      memoryGBps: 2039,
      allocationUnitBytes: 512,
    });
  });

  test("allocation units", () => expect(allocationUnits).toEqual({ pytorchCuda: 512, tensorflowGpu: 256, host: 1 }));
});

describe("deviceSpec", () => {
  test.each([
    ["A100", "a100"],
    ["NVIDIA A100-SXM", "a100"],
    ["a100_80gb", "a100"],
    ["NVIDIA GeForce RTX 4090", "rtx-4090"],
    ["rtx4090", "rtx-4090"],
    ["Tesla T4", "t4"],
    ["AMD Instinct MI300X", "mi300x"],
    ["Intel Iris Xe", "iris-xe"],
    ["Apple M2 Max", "m2-max"],
  ])("%s is %s", (name, known) => expect(deviceSpec(name).name).toBe(known));

  test.each(["a1000", "", "toString", "__proto__"])("'%s' is refused with the list of names", (name) => {
    expect(() => deviceSpec(name)).toThrow(RematError);
    expect(() => deviceSpec(name)).toThrow(
      /unknown device '.*'\. Choose one of a100, .*cpu-server, or pass .* parseDeviceSpec/,
    );
  });
});

describe("parseDeviceSpec", () => {
  const spec = { name: "mine", tflops: { float32: 12.5 }, memoryGBps: 448 };

  test("takes text or a value; an allocation unit of 1 is assumed", () => {
    expect(parseDeviceSpec(spec)).toEqual({ ...spec, allocationUnitBytes: 1 });
    expect(
      parseDeviceSpec(
        JSON.stringify({ ...spec, memoryBytes: 8e9, allocationUnitBytes: 512, oneDnn: true, source: "me" }),
      ),
    ).toEqual({
      ...spec,
      memoryBytes: 8e9,
      allocationUnitBytes: 512,
      oneDnn: true,
      source: "me",
    });
  });

  const speed = { launchUs: 12.5, memoryGBps: 9, tflops: 0.1, error: 0.1, calls: 6 };
  const calibration = {
    ...{ backend: "cpu", backendVersion: "tfjs 4.22.0", machine: "2 × CPU; node 20.19.5" },
    ...{
      at: "2026-11-29T10:00:00.000Z",
      cacheBytes: 2 ** 20,
      dispatchUs: 0,
      freeGBps: 20,
      error: 0.2,
      drift: 1.01,
      notes: ["slow"],
    },
    launchFactors: { forward: 1.2, optimizer: 0.5 },
  };
  const calibrated = {
    ...spec,
    kernels: { "Add/scalar": speed, matmul: { ...speed, beyondCacheGBps: 4 } },
    calibration,
  };

  test("takes the measured speeds of a calibrated device, and gives them back as they are", () => {
    const parsed = parseDeviceSpec(JSON.stringify(calibrated));
    expect(parsed).toEqual({ ...calibrated, allocationUnitBytes: 1 });
    expect(parseDeviceSpec(JSON.stringify(parsed))).toEqual(parsed);
  });

  const withSpeed = (change: object) => ({ ...calibrated, kernels: { Add: { ...speed, ...change } } });
  const withCalibration = (change: object) => ({ ...calibrated, calibration: { ...calibration, ...change } });
  test.each<[string, unknown, string]>([
    ["speeds alone", { ...calibrated, calibration: undefined }, "'calibration': expected together with 'kernels'"],
    ["a calibration alone", { ...spec, calibration }, "'calibration': expected together with 'kernels'"],
    ["an unknown rate", withSpeed({ gflops: 1 }), "'kernels.Add.gflops': expected one of the fields launchUs,"],
    ["no launch", withSpeed({ launchUs: undefined }), "'kernels.Add.launchUs': found nothing, expected microseconds"],
    ["a rate of 0", withSpeed({ tflops: 0 }), "'kernels.Add.tflops': found '0', expected TFLOP/s above 0"],
    ["a negative error", withCalibration({ error: -1 }), "'calibration.error': found '-1', expected a share from 0 up"],
    ["an unknown fact", withCalibration({ host: "me" }), "'calibration.host': expected one of the fields backend,"],
    [
      "notes as text",
      withCalibration({ notes: "slow" }),
      "'calibration.notes': found 'slow', expected a list of texts",
    ],
  ])("refuses %s", (_, json, message) => expect(() => parseDeviceSpec(json)).toThrow(message));

  test.each<[string, unknown, string]>([
    ["no JSON", "{name", "device spec: expected JSON, found '{name'"],
    ["no object", [1], "device spec: field 'the spec': found '[1]', expected an object"],
    ["no name", { ...spec, name: undefined }, "device spec: field 'name': found nothing, expected text"],
    ["an empty name", { ...spec, name: "" }, "device spec: field 'name': found '', expected text"],
    ["tflops as a number", { ...spec, tflops: 3 }, "device spec: field 'tflops': found '3', expected an object"],
    [
      "no float32",
      { ...spec, tflops: { float16: 3 } },
      "device spec: field 'tflops.float32': found nothing, expected TFLOP/s above 0: it is the default for other dtypes",
    ],
    [
      "a negative peak",
      { ...spec, tflops: { float32: 1, float16: -3 } },
      "device spec: field 'tflops.float16': found '-3', expected TFLOP/s above 0",
    ],
    [
      "bandwidth as text",
      { ...spec, memoryGBps: "448" },
      "device spec: field 'memoryGBps': found '448', expected GB/s above 0",
    ],
    [
      "a fraction of a byte",
      { ...spec, memoryBytes: 0.5 },
      "device spec: field 'memoryBytes': found '0.5', expected a whole number of bytes above 0",
    ],
    [
      "a unit of 0",
      { ...spec, allocationUnitBytes: 0 },
      "device spec: field 'allocationUnitBytes': found '0', expected a whole number of bytes above 0",
    ],
    [
      "half a device in a node",
      { ...spec, network: { perNode: 0.5, nodeGBps: 1, betweenGBps: 1, latencyUs: 1 } },
      "device spec: field 'network.perNode': found '0.5', expected a whole number of devices above 0",
    ],
    [
      "a network without latency",
      { ...spec, network: { perNode: 8, nodeGBps: 1, betweenGBps: 1 } },
      "device spec: field 'network.latencyUs': found nothing, expected microseconds above 0",
    ],
    [
      "a share of more than all",
      { ...spec, achievable: { memory: 1.2 } },
      "device spec: field 'achievable.memory': found '1.2', expected a share above 0, at most 1",
    ],
    [
      "a share of an unknown thing",
      { ...spec, achievable: { network: 0.5 } },
      "device spec: field 'achievable.network': expected one of the fields compute, memory",
    ],
    [
      "a launch that takes no time",
      { ...spec, launchUs: { tfjs: 0 } },
      "device spec: field 'launchUs.tfjs': found '0', expected microseconds above 0",
    ],
    [
      "what costs nothing",
      { ...spec, pricePerHour: 0 },
      "device spec: field 'pricePerHour': found '0', expected a price above 0",
    ],
    [
      "an unknown field of a network",
      { ...spec, network: { nodes: 8 } },
      "device spec: field 'network.nodes': expected one of the fields perNode, nodeGBps, betweenGBps, latencyUs",
    ],
    [
      "an unknown field",
      { ...spec, bandwidth: 448 },
      "device spec: field 'bandwidth': expected one of the fields name, tflops, memoryGBps, achievable, launchUs, memoryBytes, linkGBps, network, allocationUnitBytes, pricePerHour, oneDnn, kernels, calibration, source",
    ],
    [
      "a flag that is none",
      { ...spec, oneDnn: "yes" },
      "device spec: field 'oneDnn': found 'yes', expected true or false",
    ],
  ])("refuses %s", (_, json, message) => {
    expect(() => parseDeviceSpec(json)).toThrow(new RematError("DEVICE_SPEC", message));
  });
});
