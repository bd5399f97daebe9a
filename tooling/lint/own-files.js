/**
 * Sources that may open files with `node:fs`, because each reads only files that remat itself wrote or ships, or system
 * files. All others read through `@remat/trace/files`, which rejects devices, named pipes and endless files.
 */
export const ownFileReaders = new Map([
  ["apps/cli/src/commands/record.ts", "the step that the recorder wrote"],
  ["apps/cli/src/commands/watch.ts", "the step that the watcher wrote"],
  ["apps/cli/src/doctor/examine.ts", "manifests of installed packages"],
  ["apps/cli/src/doctor/probe-process.ts", "manifests of installed packages"],
  ["apps/cli/src/installed-version.ts", "manifests of installed packages"],
  ["apps/cli/src/fit/build-hash.ts", "remat's own files"],
  ["apps/cli/src/named-pipe.ts", "the named pipe that MODEL is, without waiting for its writer"],
  ["apps/cli/src/version.ts", "remat's own manifest"],
  ["apps/report/src/render-report.ts", "remat's own page"],
  ["packages/dispatch-hook/src/backends/node/check-cached.ts", "what remat fetched"],
  ["packages/dispatch-hook/src/backends/node/sums.ts", "what remat fetched"],
  ["apps/cli/src/native/allocator-library.ts", "remat's own source"],
  ["apps/cli/src/native/hold-lock.ts", "remat's own lock"],
  ["apps/cli/src/native/pins.ts", "remat's own list"],
  ["apps/cli/src/native/tensorflow-library.ts", "what remat fetched"],
  ["packages/trace/src/files/read-input.ts", "the one place that opens files of the user's"],
  ["packages/trace/src/files/temporary-file.ts", "files that are written"],
  ["packages/trace/src/files/write-through.ts", "files that are written"],
  ["packages/program/src/oom-kills.ts", "the kernel's counters"],
  [
    "packages/program/src/outside/program-io.ts",
    "what remat wrote, and files of the program that runs, which is code already",
  ],
  ["packages/program/src/read-failures.ts", "what the recorder wrote"],
  ["packages/program/src/run-program.ts", "what the recorder wrote"],
  ["packages/program/src/watcher/watcher.ts", "the kernel's table of processes"],
]);
