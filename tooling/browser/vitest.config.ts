import { project } from "../testkit/vitest/project.ts";

export default project("browser", { globalSetup: "test/setup.ts" });
