import { checkpoint, endCheckpointing, type SavePolicy, saveMatmuls } from "@remat/checkpoint";
import {
  budgeted,
  early,
  muchGoes,
  type Outcome,
  planned,
  type Program as Runnable,
  shared,
  stock,
} from "../../../../packages/checkpoint/test/users/ways.js";
import { type Block, type Compiling, compile } from "./compile.js";

/** A strategy for training in less memory than the baseline. */
export interface Execution {
  readonly run: (program: Runnable) => Promise<Outcome>;
  /** How often a program is first run without it, to measure its memory. */
  readonly rehearsals: number;
  readonly block?: Block;
}

const inBlocks = (policy?: SavePolicy): Execution => ({
  rehearsals: 0,
  block: ((fn: never) => checkpoint(fn, policy)) as Block,
  run: async (program) => {
    try {
      return await stock(program);
    } finally {
      endCheckpointing();
    }
  },
});

/** All strategies for training in less memory. */
export const executions: Readonly<Record<string, Execution>> = {
  "released early": { run: early, rehearsals: 0 },
  "evicting much": { run: muchGoes, rehearsals: 0 },
  "within a budget, online": { run: budgeted([0.3, 0.5, 0.7, 0.85, 1], true), rehearsals: 1 },
  "within a budget, planned": { run: budgeted([0.4, 0.6, 0.8, 1], false), rehearsals: 1 },
  "within a part of what stock takes": { run: shared, rehearsals: 0 },
  "under a plan": { run: planned, rehearsals: 1 },
  "in blocks": inBlocks(),
  "in blocks that save products": inBlocks(saveMatmuls),
};

/** Compiles a program for an execution. */
export function compileFor({ block }: Execution, source: string, options: Compiling = {}): Runnable {
  return compile(source, { ...options, ...(block && { block }) });
}
