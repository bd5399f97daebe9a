/** `replace-kernels.ts` for the bundles of pages, whose backends have no replacements. */
function replaceNone(): void {}

// `wanted-of-pass.ts` imports this name.
export { replaceNone as replaceKernels };
