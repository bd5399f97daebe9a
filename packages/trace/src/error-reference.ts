/** The meaning of an error code, and how to fix the error. */
export interface ErrorEntry {
  readonly meaning: string;
  /** The fix. It begins with the first thing to do. */
  readonly cure: string;
}

/**
 * Every code of an error or warning, by the section of `docs/reference/errors.md` that explains it. A code without an entry does not compile. After a change run
 * `pnpm errors`, which writes that page. Only types are imported from here, so the texts are in no bundle.
 */
export const errorReference = {
  "Command line and files": {
    USAGE: {
      meaning:
        "The command line is wrong: an unknown option, a value that does not parse, or options that cannot be combined.",
      cure: "Correct the option that the message names. `remat COMMAND --help` lists all options.",
    },
    CONFIG_FILE: {
      meaning:
        "A configuration file (`.rematrc`) is missing, is not JSON, or sets an option to a value that it does not take.",
      cure: "Correct the file that the message names, or ignore it with `--no-config`.",
    },
    OUTPUT_WRITE: {
      meaning: "An output file cannot be written: the folder is missing, the disk is full, or permissions are missing.",
      cure: "Name another file, free disk space, or correct the folder's permissions.",
    },
    FORMAT_UNKNOWN: { meaning: "The output format does not exist.", cure: "Choose one of the formats in the message." },
    INTERRUPTED: {
      meaning: "Ctrl-C ended a search before it found a plan within the budget.",
      cure: "Let the search run longer, or raise `--budget`.",
    },
    PROCESS_DIED: {
      meaning: "A process that remat started ended without a result. If the system killed it, memory ran out.",
      cure: "Lower `--budget` or `--batch`. If the message shows a crash, report it.",
    },
    LOG_UNREADABLE: {
      meaning: "`remat explain` cannot read the log file.",
      cure: "Check the path and its permissions.",
    },
    ALLOCATOR_LOG: {
      meaning: "The log contains no out-of-memory report, or a number that cannot be a size.",
      cure: "Save the program's whole stderr, and pass that file to `remat explain`. If the size is impossible, check the shapes in your program.",
    },
    UNKNOWN_UNIT: {
      meaning: "The unit for displayed sizes is unknown.",
      cure: "Use B, KiB, MiB or GiB, with these capital letters. A budget may also be in MB or GB.",
    },
    GRAPHS_FOLDER: {
      meaning: "The folder for trade-off graphs cannot be created or used.",
      cure: "Name another folder. remat creates it if it does not exist.",
    },
    EMITTED_NAME: {
      meaning:
        "A name from a model cannot be written into generated JavaScript or Python code, because it is not an identifier.",
      cure: "Rename it in the model.",
    },
    ARGUMENT: {
      meaning: "A function of the library was called with a wrong argument or an unknown option.",
      cure: "Pass the value that the message describes.",
    },
  },
  "Models and training steps": {
    MODEL_NOT_FOUND: {
      meaning: "The file or folder does not exist, or the folder contains no model.",
      cure: "Check the path. In a folder, remat looks for `index.js`, `index.mjs`, `model.js` and `model.json`.",
    },
    MODEL_UNREADABLE: {
      meaning: "The file exists but cannot be read, or it is a device or a socket.",
      cure: "Check its permissions, or name a regular file.",
    },
    MODEL_UNKNOWN: {
      meaning: "The file is neither a model nor a recorded run that remat can read.",
      cure: "Name a model, a trace, or a file of remat's PyTorch recorder.",
    },
    MODEL_JSON: {
      meaning: "The file is not complete JSON, or it unpacks to too much data.",
      cure: "Copy or export the whole file again. If it unpacks to too much data and you trust it, unpack it with gunzip first.",
    },
    MODEL_IMPORT: {
      meaning:
        "Node cannot import the model's module: a syntax error, a missing package, or TypeScript without a loader.",
      cure: 'Fix the error in the message. For TypeScript run with `NODE_OPTIONS="--import tsx"`.',
    },
    MODEL_EXPORT: {
      meaning: "The module does not export what remat expects.",
      cure: "Make the default export a function that returns a model: `export default ({ tf }) => model`. See `examples/README.md`.",
    },
    MODEL_CODE: {
      meaning: "The model's own code threw an error.",
      cure: "Fix the line that the message names. `REMAT_DEBUG=1` shows the call stack.",
    },
    MODEL_FAILED: {
      meaning: "The model's code failed while the terminal app or a report traced it.",
      cure: "Run `remat estimate` on the same model to see the whole error.",
    },
    MODEL_INPUT_SHAPE: {
      meaning: "An input of the model has an unknown size that is not the batch size.",
      cure: "Give the inputs a fixed shape, or write an ES module that returns the model with its input tensors: `({ tf, batch }) => ({ model, inputs })`.",
    },
    MODEL_NOT_BUILT: {
      meaning: "The model has no graph yet, because its input shape is unknown.",
      cure: "Set `inputShape` on its first layer, or call `build()`.",
    },
    MODEL_NOT_TRAINABLE: {
      meaning: "The model has no trainable weights, so there is no training step.",
      cure: "Make a layer trainable, or use `--predict` to predict inference.",
    },
    MODEL_GRAPH: {
      meaning: "The file is a planning graph (nodes with costs), which only `remat plan` reads.",
      cure: "Run `remat plan` on it, or name a model or a recorded run.",
    },
    MODEL_COMPILED: {
      meaning: "The file contains graphs of a compiled PyTorch model, which this command does not support.",
      cure: "Use `remat memory` or `remat plan`.",
    },
    MODEL_PLAN: {
      meaning: "The file is a plan, and the command needs a model or a run.",
      cure: "Use `remat report` or `remat ui` to show it.",
    },
    MODEL_POLICY: {
      meaning: "The file is a checkpointing policy for PyTorch, and the command needs a model or a run.",
      cure: "Name the recorded step, and pass the policy to `remat compare --checkpoint`.",
    },
    IMPORTER_UNKNOWN: {
      meaning:
        "Two processes of remat have different versions, and one does not support a kind of file that the other reads.",
      cure: "Use the same remat version in all processes.",
    },
    GRAPH_MODEL_DYNAMIC: {
      meaning:
        "The output shape of a node of the graph model depends on tensor values, so its memory cannot be predicted.",
      cure: "Record a program that runs the model: `remat record -- node app.js`.",
    },
    GRAPH_MODEL_OP: {
      meaning: "tfjs-converter does not support an op of the graph model.",
      cure: "Convert the model without that op, or record a program that registers the op: `remat record -- node app.js`.",
    },
    GRAPH_MODEL_WEIGHTS: {
      meaning: "The weight files or the manifest of a graph model are missing or damaged.",
      cure: "Copy all weight files next to `model.json`, or convert the model again.",
    },
    DATA_FILE: {
      meaning: "The file of `--data` has no `inputs`, or its values cannot be read as tensors.",
      cure: 'Write `{ "inputs": [[…]], "targets": [[…]] }`, or a module that returns tensors with these names.',
    },
    LAYERS_FILE: {
      meaning: "The module of `--layers` cannot be imported, or does not return a list of layer classes.",
      cure: "Export a function: `export default ({ tf }) => [class MyLayer extends tf.layers.Layer { … }]`.",
    },
    LOSS_UNKNOWN: { meaning: "The loss does not exist.", cure: "Choose one of the losses in the message." },
    OPTIMIZER_UNKNOWN: {
      meaning: "The optimizer does not exist.",
      cure: "Choose one of the optimizers in the message.",
    },
    STEP_REQUEST: {
      meaning: "An option of a training step has a wrong value, or does not apply to inference.",
      cure: "Correct the option, or leave it out.",
    },
    STEP_FUNCTION: {
      meaning: "`record` or `memoryOf` got a function that returns a model instead of running a step.",
      cure: "Pass the model itself, or a function such as `() => model.trainOnBatch(x, y)`.",
    },
    STEP_MISMATCH: {
      meaning: "The timed step and the trace have different ops.",
      cure: "Trace this step, or time the ops of the trace with `benchmarkTrace`.",
    },
    GROUPING_UNKNOWN: {
      meaning: "The grouping of layers into modules is unknown.",
      cure: 'Use "auto", "prefixes", "cuts", "none" or a function.',
    },
    HOOK_TAKEN: {
      meaning: "A hook for this event is already registered with the module tracker, which allows only one.",
      cure: "Call `clearUserHooks()` first.",
    },
    MODULE_ORDER: { meaning: "A module ended more often than it began.", cure: "Report this as a bug." },
  },
  "Keras files": {
    KERAS_NOT_JSON: {
      meaning: "The Keras model is not JSON.",
      cure: "Export the model again, and copy the whole file.",
    },
    KERAS_CORRUPT: {
      meaning: "A field of the Keras topology is missing or has the wrong type.",
      cure: "Export the model again with `model.to_json()` or tensorflowjs_converter.",
    },
    KERAS_ARCHIVE: {
      meaning: "The `.keras` archive is damaged or incomplete.",
      cure: 'Save the model again with `model.save("model.keras")`.',
    },
    KERAS_GRAPH_BROKEN: {
      meaning: "The layers of the file do not form a valid graph: an unknown layer, a cycle, or a duplicate name.",
      cure: "Export the model again from Keras. If the file was edited, restore the layer that the message names.",
    },
    KERAS_GRAPH_MODEL: {
      meaning: "The `model.json` is a graph model (a frozen TensorFlow graph), and this function needs layers.",
      cure: "Convert the Keras model with `tensorflowjs_converter --output_format tfjs_layers_model`. To predict inference of the graph model, run `remat estimate --predict`.",
    },
    KERAS_NO_TOPOLOGY: {
      meaning: "The file contains weights but no model.",
      cure: 'Save the model with `model.save("model.keras")`.',
    },
    KERAS_MODEL_UNKNOWN: {
      meaning: "The model's class is not supported. A subclassed model has no topology.",
      cure: "Rebuild the model with Keras' functional API.",
    },
    KERAS_MODEL_REFUSED: {
      meaning: "tfjs-layers cannot build one of the models nested in this file.",
      cure: "Change the layer that the message names, and export the model again.",
    },
    KERAS_LAYER_UNKNOWN: {
      meaning: "tfjs-layers has no class for a layer, such as `Lambda` or a custom layer.",
      cure: "Use a supported layer, or write the layer as a class (`--layers my-layers.js`).",
    },
    KERAS_LAYER_REFUSED: {
      meaning: "tfjs-layers rejects the configuration of a layer.",
      cure: "Change that layer in Keras, and export the model again.",
    },
    KERAS_LAYERS: {
      meaning: "An item of `layers` is not a layer class.",
      cure: "Pass classes that extend `tf.layers.Layer` and have a `static className`.",
    },
    KERAS_OPTION_UNSUPPORTED: {
      meaning: "A layer uses an option that tfjs-layers would ignore.",
      cure: "Rebuild the model without that option, or register your own class.",
    },
    KERAS_DTYPE_UNSUPPORTED: {
      meaning: "A layer uses a dtype that tfjs-layers does not support.",
      cure: "Rebuild the model with the policy `float32`.",
    },
    KERAS_CALL_UNSUPPORTED: {
      meaning: "A layer or function is called with arguments that are not supported.",
      cure: "Rebuild that part of the model with default arguments, or with a layer that takes only inputs.",
    },
    KERAS_FUNCTION_UNKNOWN: {
      meaning: "The model calls a function of Keras or TensorFlow that is not supported.",
      cure: "Use a layer or a supported function instead.",
    },
    KERAS_SHAPE_DIFFERS: {
      meaning: "tfjs-layers and Keras compute different shapes for a layer.",
      cure: "Replace that layer in Keras, or register a corrected class.",
    },
    KERAS_SIZE_WRONG: {
      meaning: "A size in a layer's configuration is not a whole number of at least 1.",
      cure: "Change that layer, and export the model again.",
    },
    KERAS_INPUT_SHAPE: {
      meaning: "The input shape that you set does not fit the model's inputs.",
      cure: "Give one shape per input, with the right number of dimensions.",
    },
    KERAS_NORMALIZATION: {
      meaning: "A Normalization layer has only a mean or only a variance, or an axis of unknown size.",
      cure: "Set both mean and variance, or neither. Choose an axis of known size.",
    },
    KERAS_TOO_DEEP: {
      meaning: "The model has too many layers in a row for tfjs-layers.",
      cure: "Split it into models of at most 1,000 layers each.",
    },
    KERAS_WEIGHTS_FILE: {
      meaning: "The weights file is damaged, incomplete or not a Keras file.",
      cure: "Save the weights again, and copy the whole file.",
    },
    KERAS_WEIGHTS_ABSENT: {
      meaning: "The file has no weights for a layer, or it has weights of other layers.",
      cure: "Use the weights file of this model.",
    },
    KERAS_WEIGHTS_SHAPE: {
      meaning: "A weight has different shapes in the file and in the model.",
      cure: "Use the weights file of this model.",
    },
  },
  "Traces and recordings": {
    TRACE_NOT_A_TRACE: {
      meaning: "The file is not a remat trace, or it was cut short before its first line ended.",
      cure: "Name a file written by `remat … --trace`, or record it again.",
    },
    TRACE_VERSION: {
      meaning: "Another version of remat wrote the trace.",
      cure: "Use that version, or record the trace again.",
    },
    TRACE_CORRUPT: {
      meaning: "A line, a column or the compressed data of a trace is damaged.",
      cure: "Record the trace again. To read the undamaged part of JSON Lines, remove the damaged line and all lines after it.",
    },
    TRACE_CUT_SHORT: {
      meaning: "The trace ends early, because recording was stopped or the disk was full.",
      cure: "Record the trace again. `remat memory` and `remat report` show the part that was recorded, unless the file is an Arrow file.",
    },
    TRACE_FIELD: {
      meaning: "The trace builder received a wrong record.",
      cure: "Correct the field that the message names, in the program that builds the trace.",
    },
    TRACE_EVENT_ORDER: {
      meaning: "Events of a trace are in an impossible order, such as a free before its allocation.",
      cure: "Record the trace again, and start before the first call of the model. If the error persists, report a bug in the program that wrote the trace.",
    },
    TRACE_NO_LIFETIMES: {
      meaning: "The trace does not show when memory is freed.",
      cure: "Record it with a memory tracker, or with remat's recorder for PyTorch.",
    },
    TRACE_NO_BACKWARD: {
      meaning: "The memory tracker expects a backward pass, and the trace has none.",
      cure: "Trace the step with its loss and gradients, or pass `forwardOnly: true`.",
    },
    TRACE_NO_PARAMETERS: {
      meaning: "The trace has no parameters to shard.",
      cure: "Record the step again, and pass its model.",
    },
    TRACE_NOT_SHARDED: {
      meaning: "The trace was not recorded under FSDP.",
      cure: "Use `MemTracker` for this trace, or predict one rank with `simulateFsdp`.",
    },
    TRACE_SHARDED: {
      meaning: "The run was already recorded under FSDP or on one of several ranks.",
      cure: "To simulate sharding, record the step on one device.",
    },
    TRACE_OPTIMIZER: {
      meaning: "A recorded run cannot be predicted with this optimizer.",
      cure: "Record the run with this optimizer, or remove `--optimizer`.",
    },
    TRACE_PHASE: {
      meaning: "Planning and checkpointing need a backward pass, and the trace has none.",
      cure: "Record a training step.",
    },
    TRACE_RECOMPUTES: {
      meaning: "The recorded step already uses checkpointing. A plan needs a step without it.",
      cure: "Record the step without checkpointing.",
    },
    TRACE_RUNTIME: {
      meaning: "The ops of the trace have no times, so the cost of recomputation is unknown.",
      cure: "Estimate the times with `priceTrace` of `@remat/runtime-estimator` first.",
    },
    TRACE_SAVES: {
      meaning: "The trace does not show when saved tensors are freed.",
      cure: "Record it again with this version of remat.",
    },
    PYTORCH_FILE: { meaning: "A file of remat's PyTorch recorder is damaged.", cure: "Record the run again." },
    PYTORCH_SCHEMA: {
      meaning: "Another version of the PyTorch recorder wrote the file.",
      cure: "Record the run again with this version.",
    },
    CUDA_SNAPSHOT: {
      meaning:
        "The snapshot of the CUDA allocator is a pickle, which only Python can read, or its converted file is damaged.",
      cure: "Convert it: `python -m remat snapshot snapshot.pickle snapshot.json.gz`.",
    },
    FX_GRAPHS: {
      meaning: "A file of compiled graphs is damaged or of another version.",
      cure: "Write it again with `remat.export_graphs`.",
    },
    GRAPH_JSON: { meaning: "The file is not JSON.", cure: "Name a model, a trace or a graph file." },
    MEMORY_NO_EVENTS: {
      meaning: "The trace has no memory events on this device.",
      cure: "Name a device that the run used.",
    },
    MEMORY_NO_SUCH_MOMENT: {
      meaning: "The trace has no such op, event or mark.",
      cure: "Choose a moment from the range in the message.",
    },
    MEMORY_SECOND_ITERATION: {
      meaning: "A second iteration began, and the memory tracker was not reset.",
      cure: 'Call `resetModStats()` between iterations, or pass `secondIteration: "reset"`.',
    },
    MEMORY_SNAPSHOT_KIND: { meaning: "The kind of memory snapshot is unknown.", cure: "Use `current` or `peak`." },
    ALLOCATOR_SETTINGS: {
      meaning: "A setting of the CUDA allocator is unknown or has a wrong value.",
      cure: "Copy the value of `PYTORCH_CUDA_ALLOC_CONF` from your program.",
    },
    RUNS_SIZES: {
      meaning: "Two of the runs to extrapolate from have the same size, or a size is missing.",
      cure: "Record the step at two or more different sizes.",
    },
    RUNS_DIFFER: {
      meaning: "The runs to extrapolate from have different ops.",
      cure: "Record runs at sizes for which the ops stay the same.",
    },
    RUNS_IRREGULAR: {
      meaning: "Sizes of tensors do not follow from the input size.",
      cure: "Record the step at a third size. If tensor sizes also depend on the data, they cannot be extrapolated.",
    },
    GRAPH_NODE: {
      meaning: "A node of a dataflow graph has a duplicate name, or it reads a name that is not an earlier node.",
      cure: "Correct the node that the message names.",
    },
    GRAPH_STORAGE: {
      meaning: "A storage of a dataflow graph has an impossible size.",
      cure: "Set it to 0 bytes or more.",
    },
    GRAPH_PAIR: {
      meaning: "A forward and a backward graph do not belong together.",
      cure: "Build both graphs with one table of storages, and end the forward graph with an output node.",
    },
  },
  "Plans and budgets": {
    BUDGET: {
      meaning: "The budget is missing or does not parse, or several goals are given.",
      cure: 'Give one budget: a share ("60%") or a size ("2GB").',
    },
    BUDGET_INFEASIBLE: {
      meaning: "The budget is too small. The message names the op that needs more memory, and a larger budget.",
      cure: "Raise the budget to that size, or use a smaller batch.",
    },
    BUDGET_NOT_FOUND: {
      meaning: "The search found no plan within the budget, but one may exist.",
      cure: "Allow more time, or raise the budget.",
    },
    OVERHEAD: {
      meaning: "The fastest plan within the budget takes more time than `--max-overhead` allows.",
      cure: "Raise the budget or the allowed overhead.",
    },
    PLAN_PREDICTION: {
      meaning: "Inference has no backward pass, so there is nothing to plan.",
      cure: "Remove `--predict` to plan training.",
    },
    PLAN_FORMAT: { meaning: "Another version of remat wrote the plan.", cure: "Plan again with this version." },
    PLAN_CORRUPT: { meaning: "The plan file is damaged.", cure: "Plan again." },
    PLAN_MISMATCH: {
      meaning: "The plan was made for another step: another model, batch, loss or library version.",
      cure: "Plan this step again.",
    },
    PLAN_SUBJECT: {
      meaning:
        "The plan is not for a TensorFlow.js step, or it offloads and this function supports only recomputation.",
      cure: "Plan a TensorFlow.js step with `remat plan`, without `--link`.",
    },
    PLANNER_BUG: {
      meaning: "The planner returned an impossible result.",
      cure: "Report this as a bug, with the model, graph or trace that you planned.",
    },
    SOLVER_FAILED: {
      meaning: "The solver HiGHS failed or could not be loaded. Browser bundles do not contain it.",
      cure: "Use another method, such as greedy, or plan in Node.",
    },
    WORKERS: {
      meaning: "The number of workers is not a whole number of at least 1.",
      cure: "Correct the number, or leave it out to use one worker per core.",
    },
    LINK: {
      meaning:
        "The bandwidth between device and host memory is wrong, or offloading is not supported for this framework.",
      cure: "Correct the bandwidth, or plan without offloading.",
    },
    GRAPH_FILE: {
      meaning: "The nodes or edges of a graph file are wrong or in the wrong order.",
      cure: "Correct the node or edge that the message names.",
    },
    PLANNING_GRAPH: {
      meaning: "The graph to plan has wrong sizes, costs or inputs.",
      cure: "Correct the node that the message names.",
    },
    MODULE_PATTERN: { meaning: "No module matches a name or pattern.", cure: "Use one of the modules in the message." },
    MODULE_STATS: {
      meaning: "A memory snapshot that the planner needs was not taken.",
      cure: "Track a whole step with its backward pass, and name a device that the module uses.",
    },
    MODULE_TREE: {
      meaning: "The input of the module planner is wrong.",
      cure: "Correct the field that the message names.",
    },
    POLICY_INPUT: {
      meaning: "The input of a module policy is wrong.",
      cure: "Correct the field that the message names.",
    },
    KNAPSACK_INPUT: {
      meaning: "The input of the knapsack solver is wrong.",
      cure: "Correct the field that the message names.",
    },
    COMPILED_BUDGETS: {
      meaning: "The file of compiled graphs has only one memory budget to choose from.",
      cure: "Export graphs for several budgets: `remat.export_graphs(..., budgets=(0.9, 0.7, 0.5, 0.3, 0.1))`.",
    },
    COMPILED_BACKWARD: {
      meaning: "The file of compiled graphs has no backward graph.",
      cure: "Export the model in training mode, with weights that require gradients.",
    },
    PYTORCH_POLICY: {
      meaning:
        "A module to checkpoint does not run in the trace, or is inside another checkpointed module. Or the trace is not from PyTorch.",
      cure: "Use a PyTorch run, and name only modules that run and are not inside one another.",
    },
  },
  "Running with less memory": {
    MEMORY_LIMIT: {
      meaning: "The step needs more memory than `--memory` allows, or the process grew beyond that limit.",
      cure: "Use a smaller batch, or the `--budget` or `--reserve` in the message.",
    },
    VERIFY: {
      meaning: "A run with less memory did not give the same losses, gradients or weights as unmodified TensorFlow.js.",
      cure: "Report this as a bug, with the model.",
    },
    BACKEND_UNSUPPORTED: {
      meaning:
        "The backend does not support recomputation, offloading or fake mode, or another backend was selected during a step.",
      cure: "Select another backend with `selectBackend()` before the step, or use `releaseEarly()`.",
    },
    BACKEND_KNOWN: { meaning: "A backend with this name already exists.", cure: "Give yours another name." },
    BACKEND_PENDING: { meaning: "The backend is still starting.", cure: "Call `await tf.ready()` first." },
    BACKEND_UNTRAINABLE: {
      meaning: "The backend lacks kernels that gradients need.",
      cure: "Use another backend. `remat doctor` lists those that work.",
    },
    NO_BACKEND: {
      meaning: "No backend works on this machine, or the requested one is not supported.",
      cure: "Run `remat doctor` and follow its table.",
    },
    KERNEL_ARGUMENTS: {
      meaning: "A kernel cannot run on tensors of these shapes or dtypes.",
      cure: "In the model, correct the op that the message names.",
    },
    KERNEL_MISSING: {
      meaning: "The backend that fake mode simulates lacks a kernel.",
      cure: "Choose another backend, such as the one in the message.",
    },
    KERNEL_UNKNOWN: {
      meaning: "`declarePure()` names a kernel that no backend provides.",
      cure: "Register the kernel first, or correct the name.",
    },
    REPLAY_DIFFERS: {
      meaning: "A kernel returned different values when it ran again on the same inputs.",
      cure: "Remove `declarePure()` for that kernel. If the kernel is the backend's own, report a bug.",
    },
    VALUE_GONE: {
      meaning: "The step reads values that the plan freed and that cannot be recomputed.",
      cure: "Plan the step again: it differs from the step that was planned.",
    },
    SAVED_GONE: {
      meaning: "A custom gradient reads a tensor that early release freed.",
      cure: "Register the gradient after importing remat, or remove `releaseEarly()`.",
    },
    UPDATE_IN_BACKWARD: {
      meaning:
        "A gradient function reads a weight that the backward pass already updated, or the optimizer does not support `updateInBackward`.",
      cure: "Remove `updateInBackward`, or save the tensor that the gradient function reads.",
    },
    DATA_DEPENDENT: {
      meaning: "Fake mode does not compute values, and the code reads one.",
      cure: "Run this part on a real backend, or avoid reading values.",
    },
    DATA_UNKNOWN: {
      meaning: "No backend has the data of this tensor, because the tensor was disposed.",
      cure: "Pass a live tensor.",
    },
    TENSOR_SIZE: {
      meaning: "An op would create a tensor of an impossible size.",
      cure: "Look for a size in the model that is too large.",
    },
    ENGINE_UNKNOWN: {
      meaning: "This version of TensorFlow.js lacks internals that remat patches.",
      cure: "Install TensorFlow.js 4.17 or a later 4.x.",
    },
    TFJS_COPIES: {
      meaning: "Two copies of TensorFlow.js are loaded. The model uses one, and remat uses the other.",
      cure: "Keep one copy: `npm ls @tensorflow/tfjs-core` lists them. In a page, import TensorFlow.js only in the bundle. With esbuild, pass `--main-fields=browser,module,main`.",
    },
    TWO_HOOKS: {
      meaning: "Two copies of @remat/dispatch-hook are loaded, and only one can watch TensorFlow.js.",
      cure: "Install one version: `npm ls @remat/dispatch-hook` lists the copies. Under `remat record` and `remat exec`, your program uses the command's copy if both copies have the same version. In CommonJS on Node 20, load `@remat/checkpoint` instead of `remat`.",
    },
    WEBGL_CONTEXT_LOST: {
      meaning:
        "The browser took the WebGL context away, usually because GPU memory ran out. Tensors and weights are gone.",
      cure: "Reload the page, restore saved weights, and use less memory.",
    },
    NO_LAYERS: {
      meaning: "No layer matches the pattern of `checkpointLayers`.",
      cure: "Use one of the layers in the message.",
    },
    NO_GRADIENT: {
      meaning: "The function's result does not depend on a trainable variable, so nothing is saved.",
      cure: "Pass the tensors whose gradients you want as `xs`.",
    },
    NO_PAGE: {
      meaning: "`showMemory()` was called outside a browser page.",
      cure: "Record a trace, and open it with `remat report`.",
    },
  },
  "Native backend": {
    NATIVE_PLATFORM: {
      meaning: "TensorFlow has no wheels for this system, so the native backend cannot be built.",
      cure: "Use `npm install @tensorflow/tfjs-node`, a Debian-based image, or the wasm backend.",
    },
    NATIVE_COMPILER: {
      meaning: "The C++ compiler does not run.",
      cure: "Install g++, or name another compiler in `CXX`.",
    },
    NATIVE_NPM: {
      meaning: "npm does not run, or could not install the pinned package.",
      cure: "Check PATH, the network and npm's registry.",
    },
    NATIVE_LIBRARY: {
      meaning: "The path of `--tensorflow` is missing or is not TensorFlow.",
      cure: "Pass the folder of TensorFlow 2.12 or later in Python's site-packages, or a wheel.",
    },
    NATIVE_WHEEL: {
      meaning: "No suitable TensorFlow wheel was found, or the given file is not a TensorFlow wheel.",
      cure: "Download the wheel elsewhere, and name it with `--tensorflow`.",
    },
    NATIVE_DOWNLOAD: {
      meaning: "TensorFlow could not be downloaded, or the hash of the downloaded file is wrong.",
      cure: "Check the network and pip's configuration, or name a wheel with `--tensorflow`.",
    },
    NATIVE_DECLINED: {
      meaning: "You declined to download TensorFlow.",
      cure: "Install tensorflow-cpu, or name a wheel with `--tensorflow`.",
    },
    NATIVE_COMPILE: {
      meaning: "The native backend or its allocator does not compile.",
      cure: "Try another version of TensorFlow, or another compiler.",
    },
    NATIVE_VERIFY: {
      meaning: "The native backend was built but does not work.",
      cure: "Follow the message, or rebuild with `remat setup native --force`.",
    },
    NATIVE_UNTRUSTED: {
      meaning: "A file in the cache was changed after the build, or other users can change it.",
      cure: "Rebuild with `remat setup native --force`, or correct the owner and permissions of the file.",
    },
    NATIVE_LOCK_LOST: {
      meaning: "This build was paused for so long that another build took over.",
      cure: "Start the build again.",
    },
  },
  "Devices and times": {
    DEVICE_UNKNOWN: {
      meaning: "The device is not in remat's table.",
      cure: "Choose one of the devices in the message, or write a device file.",
    },
    DEVICE_FILE: {
      meaning: "A device file cannot be read, or a figure in it is wrong.",
      cure: "Correct the field that the message names.",
    },
    DEVICE_SPEC: {
      meaning: "A figure of a device is missing or wrong.",
      cure: "Correct the field that the message names.",
    },
    ESTIMATE_MODE: {
      meaning: "The mode of the time estimate does not exist.",
      cure: "Use operator-level-cost-model or operator-level-benchmark.",
    },
    NOT_MEASURED: { meaning: "The trace has no measured times.", cure: "Run `benchmarkTrace` on it first." },
    NOT_PRICED: {
      meaning: "The trace has no times.",
      cure: 'Estimate times for a device, such as `deviceSpec("a100")`.',
    },
    BENCHMARK_FRAMEWORK: {
      meaning: "Ops of another framework cannot be timed in TensorFlow.js.",
      cure: "Estimate them for a device, or time them in Python with `remat.record_step`.",
    },
    BENCHMARK_FAKE: {
      meaning: "The current backend does not compute, so it cannot be timed.",
      cure: "Run the benchmark on a real backend.",
    },
    CALIBRATE_BACKEND: {
      meaning: "Kernels of the current backend cannot be calibrated: they do not compute, or run on after they return.",
      cure: "Calibrate `tensorflow` on a CPU, `wasm` or `cpu`.",
    },
    BENCHMARK_CACHE: { meaning: "The file with measured times is damaged.", cure: "Delete it to measure again." },
    SAC_NOTHING_RECORDED: {
      meaning: "The estimator recorded no step.",
      cure: "Call `record(() => …)` around the training step.",
    },
    SAC_DEVICES: {
      meaning: "An op has results on two devices.",
      cure: "Trace the part of the model that runs on one device.",
    },
    SAC_SKIPPED_PARENT: {
      meaning: "An in-place op writes into the result of an op that selective checkpointing skips.",
      cure: "Write into another tensor, or remove `--as-pytorch`.",
    },
    MODULE_UNKNOWN: {
      meaning: "The module does not exist, or has no statistics.",
      cure: "Use one of the modules in the message.",
    },
    FIT_SEGMENTS: {
      meaning: "The number of segments of a piecewise linear fit is not positive.",
      cure: "Pass 1 or more.",
    },
    FIT_POINTS: { meaning: "The points of a piecewise linear fit are wrong.", cure: "Pass one finite y for each x." },
  },
  "Search for the best way to train": {
    FIT_REQUEST: {
      meaning: "A search asks for something impossible, such as a batch that was not recorded.",
      cure: "Correct the option that the message names.",
    },
    FIT_NOTHING: {
      meaning: "No configuration fits, or every result was excluded.",
      cure: "Use a larger device, more `--ranks`, `--offload` or a larger `--max-overhead`.",
    },
    FIT_BATCH: {
      meaning: "A recorded run cannot be scaled to another batch.",
      cure: "Record the step at two batches, and name both runs.",
    },
    FIT_STORE: {
      meaning: "The folder of stored results cannot be read or written, or a file in it is damaged.",
      cure: "Fix or move the file that the message names.",
    },
    FIT_FLEET: {
      meaning: "The Redis queue or a worker failed, or a worker has different files from the search.",
      cure: "Check the Redis server, and start all workers with the same files and the same version of remat.",
    },
    FIT_WORKER: {
      meaning: "A worker thread crashed repeatedly on one configuration.",
      cure: "If memory ran out, use fewer `--workers`.",
    },
    FIT_ANSWER: {
      meaning: "A worker returned an answer that cannot be right.",
      cure: "Check the workers' versions, and check who can write to the queue.",
    },
    WHAT_IF: {
      meaning: "A what-if question does not parse, or cannot be answered for this run.",
      cure: "Ask, for example, `batch=64` or `device=h100`.",
    },
    BASELINE: {
      meaning: "The baseline of `remat check` is damaged.",
      cure: "Write it again with `remat check … --update`.",
    },
  },
  Sharding: {
    SHARDING_PLAN: {
      meaning: "A sharding or checkpointing plan does not parse, or does not fit the model.",
      cure: "Correct the setting that the message names. See [sharding](../how-to/fsdp.md).",
    },
  },
  "Reports and terminal app": {
    REPORT_READ: { meaning: "The report file cannot be read.", cure: "Check the path." },
    REPORT_DATA: {
      meaning: "The file is not a remat report, is damaged, or was written by another version.",
      cure: "Create the report again.",
    },
    REPORT_PLAN_MISMATCH: {
      meaning: "The plan of a report is for another run.",
      cure: "Name the run that was planned.",
    },
    REPORT_SHELL: { meaning: "The report's page is missing from the package.", cure: "Install the package again." },
    VIEW_UNKNOWN: { meaning: "The view does not exist.", cure: "Choose one of the views in the message." },
    TERMINAL_NO_DOCUMENT: { meaning: "No trace is open in the terminal app.", cure: "Open one first." },
    TERMINAL_STOPPED: {
      meaning: "Tracing a model in the terminal app ended early.",
      cure: "Remove `process.exit()` from the model's code, and open the file again.",
    },
  },
  "Programs and leaks": {
    PROGRAM_START: {
      meaning: "The program could not be started.",
      cure: "Write it as you would type it: `remat record -- node train.js`.",
    },
    PROGRAM_STEPS: {
      meaning: "The program loaded no TensorFlow.js or ran no training step.",
      cure: "Follow the message. The program must run in Node and import TensorFlow.js from node_modules.",
    },
    PROGRAM_TENSORFLOW: {
      meaning: "The program loads a version of TensorFlow.js that is not supported.",
      cure: "Install TensorFlow.js 4.17 or a later 4.x.",
    },
    TWO_BUDGETS: {
      meaning: "The program sets a budget or plan itself, and `remat exec` sets another.",
      cure: "Remove one of them.",
    },
    LEAK_RUNS: { meaning: "`expectNoLeaks` needs more runs to detect growth.", cure: "Raise `runs`, or leave it out." },
    TENSORS_LEAK: {
      meaning: "Tensors accumulate from run to run.",
      cure: "Fix the lines that the message names. See [leaks](../how-to/leaks.md).",
    },
  },
  Warnings: {
    BUDGET_EXCEEDED: {
      meaning: "Memory went above the budget, and training continued.",
      cure: "Raise the budget, or use a smaller batch.",
    },
    BUDGET_RAISED: {
      meaning:
        "The budget is a share of the memory that a step needs without remat. A later step needs more, so remat raised the budget.",
      cure: "For a fixed limit, give the budget in bytes.",
    },
    PLAN_OVER_BUDGET: {
      meaning: "The peak of a given plan exceeds the budget, so the plan is ignored.",
      cure: "Raise the budget, or plan again within it.",
    },
    RESIDENT_OVER_BUDGET: {
      meaning:
        "The process uses more memory than the budget, because memory of freed tensors is not returned to the system.",
      cure: "Lower the budget to make the process smaller.",
    },
    UPDATE_AFTER_BACKWARD: {
      meaning: "`updateInBackward` has no effect in this pass.",
      cure: "Nothing to fix: the result is correct. The message gives the reason.",
    },
  },
} as const;

errorReference satisfies Readonly<Record<string, Readonly<Record<string, ErrorEntry>>>>;

/** The code of a {@link RematError}, explained in `docs/reference/errors.md`. */
export type ErrorCode = {
  [Section in keyof typeof errorReference]: keyof (typeof errorReference)[Section];
}[keyof typeof errorReference];
