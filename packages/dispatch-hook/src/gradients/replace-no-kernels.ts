/** `replace-kernels.ts` for the bundles of pages: of their backends no kernel is replaced. */
function replaceNone(): void {}

// Under the name by which `wanted-of-pass.ts` imports it.
export { replaceNone as replaceKernels };
