export { allocatedSizes, deviceKind, roundUpBytes, unitBytesByName, unitBytesOn } from "./allocators/device-units.js";
