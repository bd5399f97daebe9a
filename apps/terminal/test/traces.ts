import { readFileSync } from "node:fs";
import { loadKerasModel } from "@remat/keras-loader";
import type { Trace } from "@remat/trace";
import { TraceBuilder } from "@remat/trace";
import { traceFakeStep } from "@remat/tracer";
import { stepToPlan } from "@remat/tracer/step";

const examples = new URL("../../../examples/", import.meta.url);

/** A training step of Keras's ResNet-50, batch 8, in fake mode. */
export async function resnet50(): Promise<Trace> {
  const json = JSON.parse(readFileSync(new URL("keras/resnet50.model.json", examples), "utf8")) as object;
  return traceFakeStep(() => loadKerasModel(json), {
    name: "resnet50",
    batch: 8,
    backend: "tensorflow",
    grouping: "auto",
    loss: "sum",
    optimizer: "none",
  });
}

/** A step of the transformer of PyTorch's SACEstimator test, small, in fake mode. */
export async function transformer(): Promise<Trace> {
  const module = (await import(new URL("transformer/model.js", examples).href)) as { default: unknown };
  return traceFakeStep(module.default, {
    name: "transformer",
    size: "tiny",
    loss: "sum",
    optimizer: "none",
  });
}

/** A step of a small U-Net, with tfjs's own gradients and with those that plans are followed with, whose ops and peak are others. */
export async function uNetAndPlanned(): Promise<{ readonly trace: Trace; readonly planned: Trace }> {
  const module = (await import(new URL("u-net/model.js", examples).href)) as { default: unknown };
  const request = { name: "u-net", size: "tiny", batch: 4, backend: "tensorflow" } as const;
  return {
    trace: await traceFakeStep(module.default, request),
    planned: await traceFakeStep(module.default, { ...request, ...stepToPlan }),
  };
}

/** Names as an attacker would write them: escape sequences, line ends, text that turns round. */
export const evilNames = [
  "\u001b[2J\u001b[H",
  "\u001b]0;title\u0007",
  "\u001b]52;c;cm0gLXJm\u0007",
  "line\r\nend\ttab",
  "\u202eright to left",
  "\u009b31mC1\u0085",
  "宽 字 👩‍👩‍👧 e\u0301",
  "\u0000\u007f",
] as const;

/** One training step whose every name is one of {@link evilNames}. */
export function evilTrace(): Trace {
  const name = (i: number): string => evilNames[i % evilNames.length];
  const b = new TraceBuilder({
    framework: "tfjs",
    device: "cpu",
    mode: "fake",
    allocationUnitBytes: 1,
    model: name(0),
    notes: [name(1)],
  });
  const tensor = (): number => b.tensor({ storage: b.allocate(4096), dtype: "float32", shape: [1024] });
  const root = b.call(b.module({ fqn: name(0), kind: name(1), leaf: false }), -1, true);
  b.enterModule(root);
  const calls = evilNames.map((evil, i) =>
    b.call(b.module({ fqn: `${name(0)}.${evil}`, kind: name(i + 1), leaf: i % 2 === 0 }), root, true),
  );
  for (const [i, call] of calls.entries()) {
    b.enterModule(call);
    b.op({
      name: name(i),
      stack: b.stackOfCall(call),
      outputs: [tensor()],
      runtimeMs: 1,
      attributes: { [name(i)]: name(i + 1) },
    });
    b.exitModule(call);
  }
  b.exitModule(root);
  b.mark(name(2));
  b.free(0);
  return b.build();
}
