// Loaded into a process that is timed: tells at its end, on the file descriptor 3, what it has used.
const { writeSync } = require("node:fs");

process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  const residentMiB = process.resourceUsage().maxRSS / 1024;
  writeSync(3, JSON.stringify({ cpuMs: (user + system) / 1000, residentMiB }));
});
