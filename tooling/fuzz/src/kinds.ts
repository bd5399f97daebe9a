import { callsKind } from "./calls/calls-kind.js";
import type { FuzzerKind } from "./campaign.js";
import { faultsKind } from "./faults/faults-kind.js";
import { filesKind } from "./files/files-kind.js";
import { graphsKind } from "./graphs/graphs-kind.js";
import { stepsKind } from "./graphs/steps-kind.js";
import { interruptsKind } from "./interrupts/interrupts-kind.js";
import { leaksKind } from "./leaks/leaks-kind.js";
import { likeLinesKind } from "./leaks/like-lines-kind.js";
import { plansKind } from "./plans/plans-kind.js";
import { programsKind } from "./programs/programs-kind.js";
import { pytorchKind } from "./pytorch/pytorch-kind.js";
import { shardingKind } from "./sharding/sharding-kind.js";
import { soakKind } from "./soak/soak-kind.js";

/** Every kind of fuzzer, by its name on the command line. */
export const fuzzerKinds: Readonly<Record<string, FuzzerKind>> = {
  programs: programsKind,
  faults: faultsKind,
  calls: callsKind,
  plans: plansKind,
  graphs: graphsKind,
  steps: stepsKind,
  files: filesKind,
  interrupts: interruptsKind,
  leaks: leaksKind,
  "like-lines": likeLinesKind,
  soak: soakKind,
  pytorch: pytorchKind,
  sharding: shardingKind,
};
