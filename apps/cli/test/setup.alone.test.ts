import { beforeEach, describe, expect, test, vi } from "vitest";
import { setupCommand } from "../src/commands/setup.js";
import { setupNative } from "../src/native/index.js";
import { remat } from "./run.js";

vi.mock("../src/native/index.js", () => ({ setupNative: vi.fn() }));

const download = {
  project: "tensorflow-cpu",
  version: "2.21.0",
  fetchedBytes: 274e6,
  unpackedBytes: 860e6,
  folder: "/cache/tf",
  fileName: "tensorflow_cpu.whl",
  sha256: "0".repeat(64),
};
const check = { tensorflow: "2.21.0", usesGpu: false, loss: [2, 1] as const };
const made = {
  package: "tfjs-node",
  folder: "/cache/native/tfjs-node-4.22.0",
  built: true,
  library: undefined,
  check,
  allocator: "/cache/native/caching-allocator.so",
} as const;

// The build is tested in the package; these tests are about questions and messages.
describe("remat setup native", () => {
  beforeEach(() => {
    vi.mocked(setupNative).mockReset();
    vi.mocked(setupNative).mockImplementation(async ({ confirm } = {}) => {
      if ((await confirm?.(download)) !== true) throw new Error("declined");
      return made;
    });
  });

  test("passes its options on and says where the addon is", async () => {
    const { code, stdout } = await remat(
      "setup",
      "native",
      "--gpu",
      "--yes",
      "--force",
      "--dir",
      "/mine",
      "--tensorflow",
      "tf.whl",
    );
    expect(code).toBe(0);
    expect(setupNative).toHaveBeenCalledWith(
      expect.objectContaining({ gpu: true, force: true, cache: "/mine", tensorflow: "tf.whl" }),
    );
    expect(stdout).toBe(
      "@tensorflow/tfjs-node was built and works, on TensorFlow 2.21.0, on the CPU\n" +
        "it is in /cache/native/tfjs-node-4.22.0, where remat finds it when REMAT_CACHE_DIR is /mine\n" +
        "remat trains with the caching allocator; remat doctor shows how to use it in your own program\n",
    );
  });

  test("says so when what was there works", async () => {
    vi.mocked(setupNative).mockResolvedValue({ ...made, built: false, allocator: undefined });
    const { stdout } = await remat("setup", "native");
    expect(stdout).toMatch(/tfjs-node was built before and works/);
    expect(stdout).not.toContain("allocator");
  });

  test.each([true, false])("asks at a terminal before it fetches: %s", async (answer) => {
    const questions: string[] = [];
    const ask = async (question: string) => {
      questions.push(question);
      return answer;
    };
    const run = setupCommand.run(
      ["native"],
      {},
      { stdout: { write: () => {} }, stderr: { write: () => {} }, env: {}, ask },
    );
    if (answer) await run;
    else await expect(run).rejects.toThrow("declined");
    expect(questions).toEqual([
      "No TensorFlow was found to build against. Fetch tensorflow-cpu 2.21.0 (about 274 MB to fetch, 860 MB on disk) into /cache/tf?",
    ]);
  });

  test("without a terminal needs --yes", async () => {
    const { code, stderr } = await remat("setup", "native");
    expect(code).toBe(2);
    expect(stderr).toMatch(/Pass --yes to fetch .* or name your own with --tensorflow/);
  });

  test("knows nothing else to set up", async () => {
    const { code, stderr } = await remat("setup", "wasm");
    expect(code).toBe(2);
    expect(stderr).toMatch(/cannot set up "wasm"/);
  });
});
