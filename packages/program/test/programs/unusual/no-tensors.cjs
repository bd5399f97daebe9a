require("@tensorflow/tfjs");
