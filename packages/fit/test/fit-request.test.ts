import { deviceSpec } from "@remat/runtime-estimator";
import { describe, expect, it } from "vitest";
import { stepsOfRuns, unitsOf } from "../src/index.js";
import { goldenRun } from "./steps.js";

describe("the configurations of a request", () => {
  it("vary how modules are wrapped only if a model is sharded or cast", () => {
    const units = unitsOf(
      {
        devices: [deviceSpec("a100")],
        ways: ["stock"],
        ranks: [1, 2],
        precisions: ["f32", "bf16"],
        wraps: [[], ["layers.*"]],
      },
      stepsOfRuns([goldenRun("mem_mlp4_adam")]),
    );
    const seen = units.map(
      ({ configuration: { ranks, precision, wrap } }) => `${ranks} ${precision} ${wrap?.join() ?? "unset"}`,
    );
    expect(seen).toEqual([
      "1 f32 unset",
      "2 f32 ",
      "2 f32 layers.*",
      "1 bf16 ",
      "1 bf16 layers.*",
      "2 bf16 ",
      "2 bf16 layers.*",
    ]);
  });
});
