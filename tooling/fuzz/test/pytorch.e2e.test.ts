import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { goldenFiles, readGolden } from "@remat/testkit";
import { expect, test } from "vitest";
import { compareFile } from "../src/pytorch/pytorch-kind.js";

test.each(["sac_01_foo", "mem_min_adam"])(
  "a file of the oracle agrees, and differs where one answer is changed: %s",
  async (name) => {
    const golden = readGolden(goldenFiles().find((file) => file.name === name)!);
    const folder = mkdtempSync(join(tmpdir(), "remat-fuzz-"));
    const write = (content: object): string => {
      const path = join(folder, `${name}.json`);
      writeFileSync(path, JSON.stringify(content));
      return path;
    };
    try {
      expect(await compareFile(write(golden))).toBeUndefined();
      const changed = JSON.parse(
        JSON.stringify(golden).replace(/"(memory|local_peak)":([[{][^\d]*)(\d+)/, '"$1":$21$3'),
      ) as object;
      expect(changed).not.toEqual(golden);
      expect(await compareFile(write(changed))).toMatch(/./);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
