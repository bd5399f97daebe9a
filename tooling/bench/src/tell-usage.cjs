// Loaded into a process that is timed. At exit, it writes the CPU time and memory used to file descriptor 3.
const { writeSync } = require("node:fs");

process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  const residentMiB = process.resourceUsage().maxRSS / 1024;
  writeSync(3, JSON.stringify({ cpuMs: (user + system) / 1000, residentMiB }));
});
