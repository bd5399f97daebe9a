/** `replace-kernels.ts` for the bundles of pages: of their backends no kernel is replaced. @internal */
export function replaceKernels(): void {}
