/** The state that a link to a place in the report contains. */
export interface PageState {
  /** Selected module by fully qualified name, or empty for none. */
  readonly module: string;
  /** Selected op, or -1. */
  readonly op: number;
  /** First op shown in the timeline, and the end of the range (exclusive), or -1 for the end. */
  readonly from: number;
  readonly to: number;
  readonly by: "category" | "module";
  readonly axis: "ops" | "time";
  /** Keys of visible overlays, separated by commas. `given`: those requested when the report was made. */
  readonly overlays: string;
  /** Budget of the step in bytes, or -1 for none. */
  readonly budget: number;
  /**
   * The version that is shown. `auto`: the plan within the budget, or without a budget the given plan. `recorded`: the
   * step as recorded. `given`: the given plan.
   */
  readonly plan: "auto" | "recorded" | "given";
  /** Memory to keep, in per mille. */
  readonly keep: number;
  readonly method: "greedy" | "optimal";
  readonly area: "memory" | "time";
  /** The module at the top of the explorer. */
  readonly root: string;
  readonly filter: string;
  readonly marks: number;
  readonly phase: number;
  /** Only ops with this fate under the policy (`OpFate`), or -1 for all. */
  readonly fate: number;
  readonly sort: "op" | "name" | "module" | "phase" | "memoryBytes" | "runtimeMs" | "msps" | "freed" | "fate" | "plan";
  readonly order: "up" | "down";
  readonly theme: "auto" | "light" | "dark";
}

export const initialState: PageState = {
  module: "",
  op: -1,
  from: 0,
  to: -1,
  by: "category",
  axis: "ops",
  overlays: "given",
  budget: -1,
  plan: "auto",
  keep: 500,
  method: "greedy",
  area: "memory",
  root: "",
  filter: "",
  marks: 0,
  phase: -1,
  fate: -1,
  sort: "op",
  order: "up",
  theme: "auto",
};

const choices: Readonly<Record<string, readonly string[]>> = {
  by: ["category", "module"],
  axis: ["ops", "time"],
  plan: ["auto", "recorded", "given"],
  method: ["greedy", "optimal"],
  area: ["memory", "time"],
  sort: ["op", "name", "module", "phase", "memoryBytes", "runtimeMs", "msps", "freed", "fate", "plan"],
  order: ["up", "down"],
  theme: ["auto", "light", "dark"],
};

/** Returns the difference of a state from the initial one as a fragment without `#`. */
export function writeHash(state: PageState): string {
  const parameters = new URLSearchParams();
  for (const key of Object.keys(initialState) as (keyof PageState)[])
    if (state[key] !== initialState[key]) parameters.set(key, String(state[key]));
  return parameters.toString();
}

/** Reads a state from a fragment. Invalid values are ignored. */
export function readHash(hash: string): Partial<PageState> {
  const read: Record<string, string | number> = {};
  for (const [key, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (!Object.hasOwn(initialState, key)) continue;
    const first = initialState[key as keyof PageState];
    if (typeof first === "number") {
      const number = Number(text);
      if (text !== "" && Number.isSafeInteger(number) && number >= -1) read[key] = number;
    } else if (!Object.hasOwn(choices, key) || choices[key].includes(text)) read[key] = text;
  }
  if (typeof read["keep"] === "number") read["keep"] = Math.min(1000, Math.max(0, read["keep"]));
  return read;
}

type Listener = (state: PageState, changed: ReadonlySet<keyof PageState>) => void;

/** The page's state. A change by one view is passed on to all others. */
export class Store {
  private current: PageState;
  private readonly listeners: Listener[] = [];

  constructor(state: PageState) {
    this.current = state;
  }

  get state(): PageState {
    return this.current;
  }

  update(change: Partial<PageState>): void {
    const changed = new Set(
      (Object.keys(change) as (keyof PageState)[]).filter((key) => change[key] !== this.current[key]),
    );
    if (changed.size === 0) return;
    this.current = { ...this.current, ...change };
    for (const listener of this.listeners) listener(this.current, changed);
  }

  /** Calls `listener` now, with everything changed, and at every change. */
  follow(listener: Listener): void {
    this.listeners.push(listener);
    listener(this.current, new Set(Object.keys(this.current) as (keyof PageState)[]));
  }
}
