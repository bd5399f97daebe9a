import { project } from "../../tooling/testkit/vitest/project.ts";

export default project("pytorch", { sharesProcess: true });
