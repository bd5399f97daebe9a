import type { ModelDefinition } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs-core";
import type { CalibrationCase, MakeInput } from "./calibration-case.js";
import { elementwiseCases } from "./elementwise-cases.js";
import { movementCases } from "./movement-cases.js";
import { productCases } from "./product-cases.js";

/** Elements of the largest input of a case. */
const mostElements = 4_194_304;

/** All cases, smaller ones of a kind first. */
export function allCases(): readonly CalibrationCase[] {
  return [...elementwiseCases(), ...movementCases(), ...productCases()];
}

/** A case that works, with the number of elements of its inputs. */
export interface SizedCase extends CalibrationCase {
  readonly elements: number;
}

/** Logarithm, to the base 8, of the elements from which a case runs only once: its time is not that of its launch. */
const largeBucket = 5;
/** Number of small cases that repeat together, as the ops of a block of layers do. */
const blockLength = 10;
/** How often a block of small cases runs. The median is then between a call whose code ran shortly before and one that did not. */
const blockRuns = 2;

/**
 * A prediction step that runs all cases, for the tracer. Cases are in a fixed random order among those of similar size,
 * because the ops of a model are of similar size as well: a small op is faster if the caches were not filled by a large
 * one before. Small cases repeat in blocks, because a model has few kinds of ops: a small op is faster if its code ran
 * shortly before. Each input is cut from one array just before its op, as the output of an earlier op.
 */
export function calibrationStep(cases: readonly SizedCase[]): () => ModelDefinition {
  const mixed = [...shuffled(cases)].sort((a, b) => bucketOf(a) - bucketOf(b));
  const firstLarge = mixed.findIndex((each) => bucketOf(each) >= largeBucket);
  const small = firstLarge === -1 ? mixed : mixed.slice(0, firstLarge);
  const order = [...repeatBlocks(small), ...mixed.slice(small.length)];
  return () => ({
    name: "calibration",
    inputs: randomValues(),
    forward: (values: tf.Tensor) => {
      for (const each of order) runCase(each, values);
      return tf.scalar(0);
    },
  });
}

const bucketOf = ({ elements }: SizedCase): number => Math.floor(Math.log2(Math.max(1, elements)) / 3);

function repeatBlocks<Case>(cases: readonly Case[]): readonly Case[] {
  const blocks = Array.from({ length: Math.ceil(cases.length / blockLength) }, (_, at) =>
    cases.slice(at * blockLength, (at + 1) * blockLength),
  );
  return blocks.flatMap((block) => Array.from({ length: blockRuns }, () => block).flat());
}

/** Runs a case on inputs cut from `values`, frees its results, and returns the number of elements of its inputs. */
export function runCase({ run }: CalibrationCase, values: tf.Tensor): number {
  let elements = 0;
  const input = ((...shape: number[]) => {
    const count = shape.reduce((product, size) => product * size, 1);
    elements += count;
    return tf.reshape(tf.slice(values, [0], [count]), shape as never);
  }) as MakeInput;
  tf.tidy(() => {
    run(input);
  });
  return elements;
}

/** Values for all inputs, between 0.1 and 1: logarithms, roots and quotients are defined. */
export function randomValues(): tf.Tensor {
  return tf.randomUniform([mostElements], 0.1, 1, "float32", 1);
}

/** The cases in an order that is the same each time. */
function shuffled<Case>(cases: readonly Case[]): readonly Case[] {
  const order = [...cases];
  let state = 1;
  for (let i = order.length - 1; i > 0; i--) {
    // The generator of Numerical Recipes, chapter 7.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const other = Math.floor((state / 2 ** 32) * (i + 1));
    [order[i], order[other]] = [order[other], order[i]];
  }
  return order;
}
