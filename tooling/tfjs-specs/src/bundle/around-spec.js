/** Runs every spec's function. A mode without its own opening and closing replaces `run`. */
export const aroundSpec = { run: (spec) => spec() };
