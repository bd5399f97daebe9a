/** What specs are run with besides nothing, how a line says it, and what it had to do. `bundle/install-mode.js` does it. */
export const modes = /** @type {const} */ ({
  observe: { title: "a mode that observes", work: "ops seen" },
  record: { title: "a trace of each recorded", work: "ops recorded" },
  "release-early": { title: "tensors released early", work: "backward passes" },
  "evict-everything": { title: "everything let go of after every op of a pass", work: "evictions" },
  "online-budget": { title: "a budget that is ample, without a plan", work: "specs with backward passes" },
});
