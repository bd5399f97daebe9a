import { basename } from "node:path";
import { readGolden } from "@remat/testkit";
import fc from "fast-check";
import type { FuzzerKind } from "../campaign.js";
import { explore } from "../explore.js";
import { titleOf } from "../test-text.js";
import { Torch } from "../torch/ask-torch.js";

/** A module as a sequence of steps. `random_modules.py` defines each. */
interface TorchStep {
  readonly does: string;
  readonly of?: number;
  readonly steps?: readonly TorchStep[];
}

/** The answer of PyTorch's tools about a module: a file, or an error. */
interface TorchAnswer {
  readonly file?: string;
  readonly error?: string;
}

const plain = "linear relu relu_ gelu norm dropout cos tanh double square add_ mul_ view turn halves detached attend";

const { steps } = fc.letrec<{ steps: TorchStep[]; step: TorchStep }>((tie) => ({
  steps: fc.array(tie("step"), { minLength: 1, maxLength: 8, depthIdentifier: "nesting" }),
  step: fc.oneof(
    { depthIdentifier: "nesting", maxDepth: 3 },
    { arbitrary: fc.record({ does: fc.constantFrom(...plain.split(" ")) }), weight: 12 },
    { arbitrary: fc.record({ does: fc.constant("again"), of: fc.nat(5) }), weight: 1 },
    {
      arbitrary: fc.record({
        does: fc.constantFrom("module", "module", "checkpointed", "no_grad"),
        steps: tie("steps"),
      }),
      weight: 3,
    },
  ),
}));

/** PyTorch modules: compares the answers of PyTorch's tools with remat's for the same run. */
export const pytorchKind: FuzzerKind = {
  title: "modules of PyTorch",
  backends: ["cpu"],
  share: 0,
  run: async (campaign) => {
    const torch = new Torch(new URL("random_modules.py", import.meta.url));
    let asked = 0;
    let answered = 0;
    let refused = "";
    try {
      await explore(campaign, {
        arbitrary: fc.record({ kind: fc.constantFrom("sac" as const, "mem" as const), module: steps }),
        check: async ({ kind, module }) => {
          const { file, error = "" } = await torch.ask<TorchAnswer>({ name: `${kind}_${asked++}`, kind, module });
          if (file === undefined) {
            // Rejections and ambiguous answers upstream say nothing about remat.
            refused = error;
            return undefined;
          }
          answered++;
          return compareFile(file);
        },
        testOf: ({ kind, module }, what) =>
          [
            `test(${titleOf(what)}, async () => {`,
            `  const { file } = await torch.ask(${JSON.stringify({ name: "random", kind, module })});`,
            "  expect(await compareFile(file!)).toBeUndefined();",
            "});",
          ].join("\n"),
      });
    } finally {
      torch.close();
    }
    if (answered === 0) throw new Error(`PyTorch has answered for no module, at last: ${refused}`);
  },
};

/** Returns the first difference between a file of the oracle and the results computed for its run. */
export async function compareFile(path: string): Promise<string | undefined> {
  const { comparisons } = await import("../../../goldens/src/comparisons.js");
  const golden = readGolden({ name: basename(path), path });
  for (const compare of comparisons[golden.schema]) {
    const found = await compare(golden);
    const difference = typeof found === "string" ? found : found?.[0];
    if (difference !== undefined) return difference;
  }
  return undefined;
}
