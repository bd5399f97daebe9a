import { project } from "../../tooling/testkit/vitest/project.ts";

export default project("report", { globalSetup: "test/setup.ts" });
