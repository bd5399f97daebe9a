/**
 * Modes in which specs run, with a title and the unit of their work. They are implemented in `bundle/install-mode.js`.
 */
export const modes = /** @type {const} */ ({
  observe: { title: "a mode that observes", work: "ops seen" },
  record: { title: "a trace of each recorded", work: "ops recorded" },
  "release-early": { title: "tensors released early", work: "backward passes" },
  "evict-everything": { title: "everything evicted after every op of a pass", work: "evictions" },
  "tight-budget": { title: "the smallest budget that each can be kept within, without a plan", work: "evictions" },
  "own-plan": { title: "a plan of each that recomputes all it can", work: "evictions" },
  "other-plan": { title: "the plan of another, storing where it differs", work: "evictions" },
});
