import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { writeTrace } from "@remat/trace";
import { traceFakeStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";

/** A file that the commands read, whole, as lines of JSON. */
export interface SampleFile {
  /** Ends as files of its kind do. */
  readonly name: string;
  readonly lines: readonly unknown[];
  readonly commands: readonly (readonly string[])[];
}

const repository = new URL("../../../../", import.meta.url);
const read = (path: string): Buffer => readFileSync(new URL(path, repository));

/** A step of a small model, as it is recorded. */
async function recordedStep(): Promise<readonly unknown[]> {
  const trace = await traceFakeStep(() => {
    const model = tf.sequential({
      layers: [tf.layers.dense({ units: 4, activation: "relu", inputShape: [3] }), tf.layers.dense({ units: 2 })],
    });
    return { model, inputs: tf.ones([2, 3]) };
  });
  const text = Buffer.concat([...writeTrace(trace)]).toString();
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as unknown);
}

/** One file of each kind. */
export async function sampleFiles(): Promise<readonly SampleFile[]> {
  const keras = JSON.parse(read("packages/keras-loader/test/fixtures/keras-3-models.json").toString()) as {
    cases: Record<string, { topology: object }>;
  };
  const golden = (name: string) =>
    JSON.parse(gunzipSync(read(`tooling/testkit/goldens/${name}.json.gz`)).toString()) as unknown;
  const recorded = [["estimate"], ["memory"]];
  return [
    { name: "step.remat.jsonl", lines: await recordedStep(), commands: recorded },
    { name: "sac.json", lines: [golden("sac_09d_only_views")], commands: [["estimate"]] },
    { name: "memory.json", lines: [golden("mem_min_adam")], commands: recorded },
    ...["nested", "recurrent", "operators", "sequential"].map((name) => ({
      name: "model.json",
      lines: [keras.cases[name].topology],
      commands: [["estimate"]],
    })),
    {
      name: "graph.json",
      lines: [
        {
          schema: "rematerialization-graph/1",
          nodes: ["f1", "f2", "f3", "b3", "b2", "b1"].map((name) => ({ name, bytes: 100, cost: 1 })),
          edges: [
            [0, 1],
            [1, 2],
            [2, 3],
            [3, 4],
            [1, 4],
            [4, 5],
            [0, 5],
          ],
        },
      ],
      commands: [["plan", "--budget", "80%", "--iterations", "50"]],
    },
  ];
}

/** Topologies that Keras 2 and 3 wrote of a layer or an operation each. */
export function kerasFiles(): readonly SampleFile[] {
  return ["2", "3"].flatMap((version) => {
    const bytes = gunzipSync(read(`packages/keras-loader/test/fixtures/keras-${version}-cases.json.gz`));
    const { cases } = JSON.parse(bytes.toString()) as { cases: Record<string, { topology: object }> };
    return Object.values(cases).map(({ topology }) => ({
      name: "model.json",
      lines: [topology],
      commands: [["estimate"]],
    }));
  });
}
