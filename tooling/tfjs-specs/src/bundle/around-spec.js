/** What every spec's function runs in; a mode that has no opening and closing of its own puts itself here. */
export const aroundSpec = { run: (spec) => spec() };
