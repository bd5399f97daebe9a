import { project } from "../../tooling/testkit/vitest/project.ts";

export default project("cli", {
  globalSetup: "test/setup.ts",
  setupFile: "test/bundled-processes.ts",
  sharesProcess: true,
});
