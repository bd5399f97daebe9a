/**
 * Sources that may open files with `node:fs`, since each reads only what remat itself wrote or ships, or what the system has. All others read by
 * `@remat/output-file`, which refuses devices, named pipes and files without end.
 */
export const ownFileReaders = new Map([
  ["apps/cli/src/commands/record.ts", "the step that the recorder wrote"],
  ["apps/cli/src/commands/watch.ts", "the step that the watcher wrote"],
  ["apps/cli/src/doctor/examine.ts", "manifests of installed packages"],
  ["apps/cli/src/doctor/probe-process.ts", "manifests of installed packages"],
  ["apps/cli/src/fit/build-hash.ts", "remat's own files"],
  ["apps/cli/src/named-pipe.ts", "the named pipe that MODEL is, without waiting for its writer"],
  ["apps/cli/src/version.ts", "remat's own manifest"],
  ["apps/report/src/render-report.ts", "remat's own page"],
  ["packages/backends/src/node/check-cached.ts", "what remat fetched"],
  ["packages/backends/src/node/sums.ts", "what remat fetched"],
  ["packages/native-backend/src/caching-allocator.ts", "remat's own source"],
  ["packages/native-backend/src/hold-lock.ts", "remat's own lock"],
  ["packages/native-backend/src/pins.ts", "remat's own list"],
  ["packages/native-backend/src/tensorflow-library.ts", "what remat fetched"],
  ["packages/output-file/src/read-input.ts", "the one place that opens files of the user's"],
  ["packages/output-file/src/temporary-file.ts", "files that are written"],
  ["packages/output-file/src/write-through.ts", "files that are written"],
  ["packages/program/src/oom-kills.ts", "the kernel's counters"],
  [
    "packages/program/src/outside/program-io.ts",
    "what remat wrote, and files of the program that runs, which is code already",
  ],
  ["packages/program/src/read-failures.ts", "what the recorder wrote"],
  ["packages/program/src/run-program.ts", "what the recorder wrote"],
  ["packages/program/src/watcher/watcher.ts", "the kernel's table of processes"],
]);
