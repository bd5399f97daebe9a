import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseDeviceSpec } from "@remat/runtime-estimator";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { remat } from "./run.js";

const model = fileURLToPath(new URL("../../../examples/lstm/model.js", import.meta.url));
const estimate = (...options: string[]) => remat("estimate", model, "--size", "tiny", ...options);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "remat-calibrate-"));
  vi.stubEnv("REMAT_CACHE_DIR", join(folder, "cache"));
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

describe("remat calibrate", () => {
  const kept = () => join(folder, "cache", "calibrations");

  test("is offered as long as this machine is not calibrated", async () => {
    const { stdout } = await estimate("--device", "here", "--backend", "cpu");
    expect(stdout).toContain("estimated for this machine (roofline, not calibrated)");
    expect(stdout).toContain(
      "note: this machine is not calibrated, so times are for a typical CPU. Run remat calibrate --backend cpu to measure",
    );
  });

  test("measures a backend, shows its speed by class, and has --device here use it", async () => {
    const { code, stdout, stderr } = await remat("calibrate", "--backend", "cpu", "--time", "2s");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^Calibrated cpu \(tfjs 4\.\d+\.\d+\) on .*; node /);
    expect(stdout).toMatch(/^Half of all calls were predicted within ±\d+% by a fit that had not seen them\.$/m);
    for (const name of ["matmul", "reduction", "movement", "view", "elementwise"])
      expect(stdout).toMatch(new RegExp(`^${name} .*±\\d+%`, "m"));
    expect(stdout).toMatch(/^TensorFlow\.js adds [\d.]+ µs to each op\.$/m);
    const [name] = readdirSync(kept());
    expect(stdout).toContain(`Saved as ${join(kept(), name)}. --device here now uses it.`);
    const calibrated = await estimate("--device", "here", "--backend", "cpu");
    expect(calibrated.stdout).toMatch(/estimated for this machine \(calibrated, ±\d+%\)/);
    expect(calibrated.stdout).not.toContain("remat calibrate");
    const other = await estimate("--device", "here", "--backend", "wasm");
    expect(other.stdout).toContain("Run remat calibrate --backend wasm");
  });

  test("writes a file to share, which --device takes for steps of its backend alone", async () => {
    const file = join(folder, "mine.json");
    const { stdout } = await remat("calibrate", "--backend", "cpu", "--time", "1s", "-o", file, "--format", "json");
    const device = parseDeviceSpec(readFileSync(file, "utf8"));
    expect(device.calibration).toMatchObject({ backend: "cpu" });
    expect(JSON.parse(stdout)).toMatchObject({ path: file, device: { calibration: { backend: "cpu" } } });
    const of = async (backend: string) => (await estimate("--device", file, "--backend", backend)).stdout;
    expect(await of("cpu")).toMatch(/\(calibrated, ±\d+%\)/);
    const asWasm = await of("wasm");
    expect(asWasm).toContain("(roofline, not calibrated)");
    expect(asWasm).toContain(
      "note: the device is calibrated for cpu, but the step is of wasm: times are from its roofline",
    );
  });

  test("does not use the calibration of another machine or version, and says so", async () => {
    const [name] = readdirSync(kept());
    renameSync(join(kept(), name), join(kept(), "cpu-0123456789ab.json"));
    const { stdout } = await estimate("--device", "here", "--backend", "cpu");
    expect(stdout).toContain("(roofline, not calibrated)");
    expect(stdout).toContain("note: the calibration of cpu is of another machine or version, so it was not used. Run");
    writeFileSync(join(kept(), name), "{");
    expect((await estimate("--device", "here", "--backend", "cpu")).stdout).toContain("(roofline, not calibrated)");
  });

  test("refuses a backend that it cannot measure", async () => {
    const { code, stderr } = await remat("calibrate", "--backend", "webgl");
    expect([code, stderr]).toEqual([2, expect.stringContaining("--backend")]);
  });
});
