/**
 * A graph of random layers, like the benchmarks of other planners (Checkmate, Moccasin): about 22 layers of random
 * width, edges from each layer to the next and some that skip, sizes with a long tail, in a random topological order.
 */
export function layeredGraph(nodeCount, edgesPerNode, seed) {
  const random = randomNumbers(seed);
  const layers = layersOf(nodeCount, random);
  const inputs = Array.from({ length: nodeCount }, () => new Set());
  const pick = (list) => list[Math.floor(random() * list.length)];
  layers.forEach((layer, l) => {
    if (l === 0) return;
    for (const node of layer) {
      const count = Math.min(layers[l - 1].length, 1 + Math.floor(random() * 2 * (edgesPerNode * 0.86 - 0.5)));
      while (inputs[node].size < count) inputs[node].add(pick(layers[l - 1]));
    }
  });
  for (let skip = 0; skip < nodeCount * edgesPerNode * 0.14; skip++) {
    const from = Math.floor(random() * (layers.length - 2));
    const to = Math.min(layers.length - 1, from + 2 + Math.floor(random() ** 2 * (layers.length - 2 - from)));
    inputs[pick(layers[to])].add(pick(layers[from]));
  }
  const isRead = new Set(inputs.flatMap((set) => [...set]));
  layers.slice(0, -1).forEach((layer, l) => {
    for (const node of layer) if (!isRead.has(node)) inputs[pick(layers[l + 1])].add(node);
  });
  const order = topologicalOrder(inputs, random);
  const position = new Int32Array(nodeCount);
  order.forEach((node, i) => {
    position[node] = i;
  });
  return {
    schema: "rematerialization-graph/1",
    name: `layers-${nodeCount}`,
    nodes: order.map((node, i) => ({
      name: String(node),
      bytes: 10 * Math.max(2, Math.round(random() < 0.5 ? 80 + 40 * gauss(random) : 300 + 200 * gauss(random))),
      cost: i === 0 ? 0 : Math.floor(random() * 1000),
    })),
    edges: inputs.flatMap((set, to) => [...set].map((from) => [position[from], position[to]])),
  };
}

function layersOf(nodeCount, random) {
  const meanWidth = nodeCount / 22;
  const layers = [[0]];
  let next = 1;
  while (next < nodeCount - 1) {
    const width = Math.min(nodeCount - 1 - next, 1 + Math.floor(random() * 2 * meanWidth));
    layers.push(Array.from({ length: width }, () => next++));
  }
  layers.push([next]);
  return layers;
}

function topologicalOrder(inputs, random) {
  const left = inputs.map((set) => set.size);
  const readers = inputs.map(() => []);
  inputs.forEach((set, to) => {
    for (const from of set) readers[from].push(to);
  });
  const ready = left.flatMap((count, node) => (count === 0 ? [node] : []));
  const order = [];
  while (ready.length > 0) {
    const [node] = ready.splice(Math.floor(random() * ready.length), 1);
    order.push(node);
    for (const reader of readers[node]) if (--left[reader] === 0) ready.push(reader);
  }
  return order;
}

function gauss(random) {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

function randomNumbers(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
