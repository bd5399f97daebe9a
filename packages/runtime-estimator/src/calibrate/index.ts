export {
  type CalibratedDevice,
  type CalibrateOptions,
  type CalibrationProgress,
  calibrate,
} from "./calibrate.js";
export type { CalibrationCase, MakeInput } from "./calibration-case.js";
