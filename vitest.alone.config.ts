import { project } from "./tooling/testkit/vitest/project.ts";

export default project("alone", { isAlone: true });
