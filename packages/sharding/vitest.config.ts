import { project } from "../../tooling/testkit/vitest/project.ts";

export default project("sharding", { sharesProcess: true });
