/**
 * A stage of a hook that a framework runs around a module, where the order of memory events within the hook matters: FSDP's hooks gather
 * parameters before a module and scatter gradients after it. `begin` and `end` enclose the tracker's wrapper, `original` and
 * `originalDone` the framework's own function inside it.
 */
export interface ModuleHook {
  readonly hook: "preForward" | "postForward" | "preBackward" | "postBackward";
  readonly stage: "begin" | "original" | "originalDone" | "end";
  /** Whether the backward pass was running: a forward hook then belongs to a recomputation. */
  readonly backward: boolean;
  readonly fqn: string;
}

const prefix = "hook";

/** Name of the `mark` event that stands for `hook` in a trace: `hook:preForward:begin:forward:Net.layers.0`. */
export function moduleHookMark(hook: ModuleHook): string {
  return [prefix, hook.hook, hook.stage, hook.backward ? "backward" : "forward", hook.fqn].join(":");
}

/** What {@link moduleHookMark} wrote; undefined for the name of any other mark. */
export function parseModuleHookMark(name: string): ModuleHook | undefined {
  const match = /^hook:(preForward|postForward|preBackward|postBackward):(\w+):(forward|backward):(.*)$/s.exec(name);
  if (match === null) return undefined;
  return {
    hook: match[1] as ModuleHook["hook"],
    stage: match[2] as ModuleHook["stage"],
    backward: match[3] === "backward",
    fqn: match[4],
  };
}
