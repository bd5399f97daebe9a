import { OpFlag, TraceBuilder } from "@remat/trace";
import { expect, test } from "vitest";
import {
  displayModulewiseSacStats,
  displaySacStats,
  displaySacTradeoffStats,
  greedyOrder,
  sacStats,
} from "../src/index.js";

/** Net: mm, t (a view), dropout, relu_ on mm's result, a child with one op. */
function smallModel() {
  const b = new TraceBuilder({ framework: "pytorch", device: "cuda:0", mode: "fake", allocationUnitBytes: 512 });
  const tensor = (bytes: number) => b.tensor({ storage: b.allocate(bytes), dtype: "float32", shape: [bytes / 4] });
  const net = b.call(b.module({ fqn: "Net", kind: "Net", leaf: false }), -1, true);
  const child = b.call(b.module({ fqn: "Net.child.inner", kind: "Child", leaf: false }), net, false);
  b.enterModule(net);
  const product = tensor(1000);
  b.op({ name: "aten.mm.default", outputs: [product], runtimeMs: 0.5 });
  b.op({ name: "aten.t.default", outputs: [product], runtimeMs: 0, flags: OpFlag.view });
  b.op({ name: "aten.native_dropout.default", outputs: [tensor(600)], runtimeMs: 0.03125, flags: OpFlag.random });
  b.op({ name: "aten.relu_.default", outputs: [product], runtimeMs: 0.25, flags: OpFlag.inPlace });
  b.save(0);
  b.enterModule(child);
  b.op({ name: "aten.sum.default", outputs: [tensor(4)], runtimeMs: 1e-7 });
  b.exitModule(child);
  b.op({ name: "aten.add.Tensor", outputs: [tensor(8)], runtimeMs: 2 });
  b.exitModule(net);
  return sacStats(b.build());
}

const stats = smallModel();
const orders = new Map(Array.from(stats, ([fqn, one]) => [fqn, greedyOrder(one)]));

test("shows all modules as tables", () => {
  expect(displayModulewiseSacStats(stats, orders, { depth: 3, tabular: true })).toMatchInlineSnapshot(`
    "Module: Net.child.inner
    Total Memory: 0 B Total Runtime: 1e-07 ms Store Random: True
    ========  =========  ==============  ============  ===========  ========  ================  ==========
      Op Idx  Op Name      Runtimes(ms)    Memory (B)  View-like    Random    Saved Autograd    In-place
    ========  =========  ==============  ============  ===========  ========  ================  ==========
           0  sum                     0             0  False        False     False             None
    ========  =========  ==============  ============  ===========  ========  ================  ==========
    AC Trade-off for Module: Net.child.inner MSPS = Memory/Runtime
    ==========  ============  ===================  ===================  =================  ==================  ======  ===============  ===================
    Op Id(s)    Op Name(s)      Discarded Mem (%)    Discarded Mem (B)    Recomp time (%)    Recomp time (ms)    MSPS  Always Stored    Always Recomputed
    ==========  ============  ===================  ===================  =================  ==================  ======  ===============  ===================
    {0}         {'sum'}                         0                    0                  1               1e-07       0  False            False
    ==========  ============  ===================  ===================  =================  ==================  ======  ===============  ===================
    Module: Net
    Total Memory: 3584 B Total Runtime: 2.7812501 ms Store Random: False
    ========  ==============  ==============  ============  ===========  ========  ================  ==========
      Op Idx  Op Name           Runtimes(ms)    Memory (B)  View-like    Random    Saved Autograd    In-place
    ========  ==============  ==============  ============  ===========  ========  ================  ==========
           0  mm                      0.5             1024  False        False     True              None
           1  t                       0                  0  True         False     True              None
           2  native_dropout          0.0312          1024  False        True      False             None
           3  relu_                   0.25            1024  False        False     True              0
           4  sum                     0                512  False        False     False             None
           5  add                     2                  0  False        False     False             None
    ========  ==============  ==============  ============  ===========  ========  ================  ==========
    AC Trade-off for Module: Net MSPS = Memory/Runtime
    ==========  ==================  ===================  ===================  =================  ==================  ============  ===============  ===================
    Op Id(s)    Op Name(s)            Discarded Mem (%)    Discarded Mem (B)    Recomp time (%)    Recomp time (ms)          MSPS  Always Stored    Always Recomputed
    ==========  ==================  ===================  ===================  =================  ==================  ============  ===============  ===================
    {1}         {'t'}                            0                         0             0                0            nan         False            True
    {4}         {'sum'}                          0.1429                  512             0                1e-07          5.12e+09  False            False
    {2}         {'native_dropout'}               0.4286                 1536             0.0112           0.0312501  32800         False            False
    {0, 3}      {'mm', 'relu_'}                  1                      3584             0.2809           0.78125     2730         False            False
    {5}         {'add'}                          1                      3584             1                2.78125        0         False            False
    ==========  ==================  ===================  ===================  =================  ==================  ============  ===============  ==================="
  `);
});

test("down to a depth, as plain text", () => {
  expect(displayModulewiseSacStats(stats, orders, { depth: 2 })).toMatchInlineSnapshot(`
    "Module: Net
    Total Memory: 3584 B Total Runtime: 2.7812501 ms Store Random: False
    Op Idx	Op Name       	Runtimes(ms)	Memory (B)	View-like	Random	Saved Autograd	In-place
    0     	mm            	0.5000      	1024      	False    	False 	True          	None    
    1     	t             	0.0000      	0         	True     	False 	True          	None    
    2     	native_dropout	0.0312      	1024      	False    	True  	False         	None    
    3     	relu_         	0.2500      	1024      	False    	False 	True          	0       
    4     	sum           	0.0000      	512       	False    	False 	False         	None    
    5     	add           	2.0000      	0         	False    	False 	False         	None    
    AC Trade-off for Module: Net MSPS = Memory/Runtime
    Op Id(s)	Op Name(s)        	Discarded Mem (%)	Discarded Mem (B)	Recomp time (%)	Recomp time (ms)  	MSPS    	Always Stored	Always Recomputed
    {1}     	{'t'}             	0.0000           	0                	0.0000         	0.0               	nan     	False        	True             
    {4}     	{'sum'}           	0.1429           	512              	0.0000         	1e-07             	5.12e+09	False        	False            
    {2}     	{'native_dropout'}	0.4286           	1536             	0.0112         	0.0312501         	3.28e+04	False        	False            
    {0, 3}  	{'mm', 'relu_'}   	1.0000           	3584             	0.2809         	0.7812501000000001	2.73e+03	False        	False            
    {5}     	{'add'}           	1.0000           	3584             	1.0000         	2.7812501000000003	0.00e+00	False        	False            "
  `);
});

test("shows one module as the matching parts of that", () => {
  for (const [fqn, one] of stats) {
    const order = orders.get(fqn) as ReturnType<typeof greedyOrder>;
    expect(displayModulewiseSacStats(new Map([[fqn, one]]), orders, { depth: 9 })).toBe(
      `Module: ${fqn}\n${displaySacStats(one)}\nAC Trade-off for Module: ${fqn} MSPS = Memory/Runtime\n${displaySacTradeoffStats(order, one)}`,
    );
  }
});

test("shows nothing for no module", () => {
  expect(displayModulewiseSacStats(stats, orders, { depth: 0 })).toBe("");
});
