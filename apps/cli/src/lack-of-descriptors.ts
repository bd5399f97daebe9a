/** The command can load with this many open files. */
const fewestFiles = 256;
/** Errors of Node when it can open no more files. It reports files that it cannot read as missing. */
const codes: ReadonlySet<unknown> = new Set([
  "EMFILE",
  "ENFILE",
  "ERR_MODULE_NOT_FOUND",
  "ERR_PACKAGE_PATH_NOT_EXPORTED",
  "ERR_INVALID_PACKAGE_CONFIG",
  "MODULE_NOT_FOUND",
]);

/** Explains in one line that an error is due to the process's limit on open files. Returns undefined if it is not. */
export function lackOfDescriptors(error: unknown, limit: () => number = openFilesLimit): string | undefined {
  const code = (error as { readonly code?: unknown } | null | undefined)?.code;
  if (!codes.has(code)) return undefined;
  const files = limit();
  if (files >= fewestFiles && code !== "EMFILE" && code !== "ENFILE") return undefined;
  const reason = files < fewestFiles ? `only ${files} files may be open at once here` : "too many files are open";
  return `could not open its files: ${reason}. Allow more with: ulimit -n 1024`;
}

function openFilesLimit(): number {
  try {
    const { report } = process;
    // Otherwise the report would look up host names.
    (report as { excludeNetwork?: boolean }).excludeNetwork = true;
    const { userLimits } = report.getReport() as {
      readonly userLimits?: { readonly open_files?: { readonly soft?: number | string } };
    };
    const soft = userLimits?.open_files?.soft;
    return typeof soft === "number" ? soft : Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
