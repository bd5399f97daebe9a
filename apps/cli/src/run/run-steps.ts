import { createHash } from "node:crypto";
import { RematError } from "@remat/trace";
import { formatTypedBytes } from "@remat/trace/text";
import { type ModelDefinition, prepareStep, type TrainingStep } from "@remat/tracer/step";
import type { Tensor, Variable } from "@tensorflow/tfjs-core";
import { loadModel } from "../load-model.js";
import { consumesGradients, type StepFigures, type StepJob, type StepResult, type TensorPlace } from "./step-job.js";

type StepOutcome = Partial<
  Pick<StepFigures, "peakBytes" | "recomputedOps" | "recomputedOnTouch" | "offloadedBytes" | "reloadedBytes">
>;

/** How steps are run: unmodified, or inside an execution. */
export interface StepSurroundings {
  /** Runs `step` and returns its figures. `before` are the tensors that exist before it. */
  around(step: () => void, before: readonly Tensor[]): StepOutcome;
  close(): void;
}

const stock: StepSurroundings = {
  around(step) {
    step();
    return {};
  },
  close() {},
};

/**
 * Builds the job's model and runs its steps. The backend must be initialized. Memory is measured from outside, as the
 * process's resident memory.
 */
export async function runSteps(job: StepJob, surround: () => StepSurroundings = () => stock): Promise<StepResult> {
  const { source } = job;
  requireStart(job, process.memoryUsage.rss());
  const model = await loadModel(source, { readsWeights: true });
  globalThis.gc?.();
  const loadedBytes = process.memoryUsage.rss();
  let step: TrainingStep | undefined;
  let surroundings: StepSurroundings | undefined;
  try {
    step = await prepareStep(model, { ...source.request, name: source.name });
    const { definition } = step;
    surroundings = surround();
    const reader = new TensorReader(job, definition);
    const steps: StepFigures[] = [];
    for (let i = 0; i < job.steps; i++) {
      steps.push(timeStep(i, step, surroundings, reader));
      // The arrays of the initial weights are garbage now. They are as large as the weights.
      if (i === 0) globalThis.gc?.();
      requireResident(job, i);
      // Lets the JavaScript engine collect garbage, as it can between the batches of `fit`.
      await new Promise((resolve) => setImmediate(resolve));
    }
    const peakResidentBytes = process.resourceUsage().maxRSS * 1024;
    const [first] = [definition.inputs].flat() as Tensor[];
    const notes = [definition.notes ?? []].flat();
    return { batch: first.shape[0] ?? 1, notes, steps, loadedBytes, peakResidentBytes, values: reader.values };
  } finally {
    surroundings?.close();
    step?.dispose();
  }
}

/** Rejects a limit that the process exceeds with its libraries alone, and gives the smallest limit that could work. */
function requireStart({ maxResidentBytes, predictedPeakBytes = 0, source }: StepJob, residentBytes: number): void {
  if (maxResidentBytes === undefined || residentBytes <= maxResidentBytes) return;
  throw new RematError(
    "MEMORY_LIMIT",
    `${source.name}: libraries alone take ${formatTypedBytes(residentBytes)}, ` +
      `and --memory is ${formatTypedBytes(maxResidentBytes)}. Nothing was run. ` +
      `Pass at least --memory ${residentBytes + predictedPeakBytes}B --reserve ${residentBytes}B for a step of ` +
      `${formatTypedBytes(predictedPeakBytes)}.`,
  );
}

/**
 * Checks the highest resident memory, since a step may use memory and free it before its end. The part beyond the
 * tensors is the reserve that a run like this one needs.
 */
function requireResident({ maxResidentBytes, predictedPeakBytes = 0, source }: StepJob, step: number): void {
  const residentBytes = process.resourceUsage().maxRSS * 1024;
  if (maxResidentBytes === undefined || residentBytes <= maxResidentBytes) return;
  const reserveBytes = residentBytes - predictedPeakBytes;
  throw new RematError(
    "MEMORY_LIMIT",
    `${source.name}: stopped after step ${step + 1}: the process uses ${formatTypedBytes(residentBytes)}, and --memory is ${formatTypedBytes(maxResidentBytes)}. Tensors need ${formatTypedBytes(predictedPeakBytes)}. Pass --reserve ${reserveBytes}B, or a smaller --batch.`,
  );
}

function timeStep(
  index: number,
  step: TrainingStep,
  surroundings: StepSurroundings,
  reader: TensorReader,
): StepFigures {
  let loss = Number.NaN;
  let readingMs = 0;
  let gradients: StepFigures["gradients"];
  const cpu = process.cpuUsage();
  const start = performance.now();
  const outcome = surroundings.around(
    () =>
      step.take({
        loss: (value) => {
          loss = value.dataSync()[0];
        },
        ...(reader.wants("gradient", index) && {
          gradients: (grads) => {
            const began = performance.now();
            gradients = reader.read(index, "gradient", Object.entries(grads));
            readingMs += performance.now() - began;
          },
        }),
      }),
    reader.tensorsBefore,
  );
  const wallMs = performance.now() - start - readingMs;
  const { user, system } = process.cpuUsage(cpu);
  const weights = reader.wants("weight", index) ? reader.read(index, "weight", reader.weights) : undefined;
  return {
    wallMs,
    cpuMs: (user + system) / 1000,
    loss,
    ...outcome,
    ...(gradients && { gradients }),
    ...(weights && { weights }),
  };
}

/** Computes digests of tensors, and returns the values of some. */
class TensorReader {
  readonly values: (Float32Array | Int32Array | Uint8Array | undefined)[];
  private readonly job: StepJob;
  private readonly definition: ModelDefinition;

  constructor(job: StepJob, definition: ModelDefinition) {
    this.job = job;
    this.definition = definition;
    this.values = job.read.map(() => undefined);
  }

  /**
   * Everything that a step may change, including moving statistics, by name. Names need not be unique, so they are
   * numbered.
   */
  get weights(): readonly (readonly [string, Tensor])[] {
    const { model, parameters = {}, buffers = {} } = this.definition;
    const named: (readonly [string, Tensor])[] = [
      // tfjs-layers keeps its variables in a field that its types hide.
      ...(model?.weights ?? []).map(
        (weight) => [weight.originalName, (weight as unknown as { val: Variable }).val] as const,
      ),
      ...Object.entries(parameters),
      ...Object.entries(buffers),
    ];
    return [...new Map(named.map(([name, tensor], i) => [`${i}:${name}`, tensor]))];
  }

  /** Tensors that exist before a step: weights, and its batch, which a model may have created while modes were open. */
  get tensorsBefore(): readonly Tensor[] {
    const { inputs, targets = [] } = this.definition;
    return [...this.weights.map(([, weight]) => weight), ...([inputs, targets].flat() as Tensor[])];
  }

  wants(kind: TensorPlace["kind"], step: number): boolean {
    if (kind === "gradient" && consumesGradients(this.job.execution)) return false;
    return this.job.digest || this.job.read.some((place) => place.kind === kind && place.step === step);
  }

  read(
    step: number,
    kind: TensorPlace["kind"],
    tensors: readonly (readonly [string, Tensor])[],
  ): Readonly<Record<string, string>> {
    return Object.fromEntries(
      tensors.map(([name, tensor]) => {
        const data = tensor.dataSync();
        const wanted = this.job.read.findIndex(
          (place) => place.step === step && place.kind === kind && place.name === name,
        );
        if (wanted >= 0) this.values[wanted] = data.slice();
        const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
        return [name, createHash("sha256").update(bytes).digest("hex")];
      }),
    );
  }
}
