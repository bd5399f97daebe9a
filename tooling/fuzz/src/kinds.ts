import type { FuzzerKind } from "./campaign.js";
import { faultsKind } from "./faults/faults-kind.js";
import { programsKind } from "./programs/programs-kind.js";

/** Every kind of fuzzer, by the name by which it is asked for. */
export const fuzzerKinds: Readonly<Record<string, FuzzerKind>> = {
  programs: programsKind,
  faults: faultsKind,
};
