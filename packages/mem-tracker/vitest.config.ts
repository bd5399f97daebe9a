import { project } from "../../tooling/testkit/vitest/project.ts";

export default project("mem-tracker", { sharesProcess: true });
