/** Edges of a graph whose nodes are in topological order: per node the set of nodes that it reads, as bits. */
export type InputSets = readonly number[];

/** How many acyclic graphs of so many nodes there are, but for names: sequence A003087 of the OEIS. */
export const graphCounts: readonly number[] = [1, 1, 2, 6, 31, 302, 5984, 243_668];

/**
 * Every acyclic graph of `nodes` nodes, whatever its nodes are called; a few of the symmetric ones more than once. Without one of its
 * last nodes a graph is one with a node less, so each of those gets a node that reads any set of the others. Graphs are told apart by
 * their edges after sorting the nodes by what stays the same under renaming.
 */
export function everyGraph(nodes: number): InputSets[] {
  if (nodes === 0) return [[]];
  const found: InputSets[] = [];
  const isKnown = new Uint8Array(2 ** ((nodes * (nodes - 1)) / 2));
  for (const smaller of everyGraph(nodes - 1))
    for (let read = 0; read < 2 ** (nodes - 1); read++) {
      const graph = sorted([...smaller, read]);
      const key = graph.reduce((bits, set, v) => bits + set * 2 ** ((v * (v - 1)) / 2), 0);
      if (isKnown[key] === 1) continue;
      isKnown[key] = 1;
      found.push(graph);
    }
  return found;
}

/** The same graph with its nodes by how far they are from the first, and then by their neighbourhoods. */
function sorted(graph: InputSets): InputSets {
  const n = graph.length;
  const level = new Array<number>(n).fill(0);
  for (let v = 0; v < n; v++)
    for (let u = 0; u < v; u++) if (graph[v] & (1 << u)) level[v] = Math.max(level[v], level[u] + 1);
  let colour = level;
  for (let round = 0; round < 4; round++) {
    const next = colour.map((c) => mixed(c, 1));
    for (let v = 0; v < n; v++)
      for (let u = 0; u < v; u++)
        if (graph[v] & (1 << u)) {
          next[v] = (next[v] + mixed(colour[u], 2)) | 0;
          next[u] = (next[u] + mixed(colour[v], 3)) | 0;
        }
    colour = next;
  }
  const order = colour.map((_, v) => v).sort((a, b) => level[a] - level[b] || colour[a] - colour[b]);
  const place = new Array<number>(n);
  order.forEach((v, i) => {
    place[v] = i;
  });
  return order.map((v) => {
    let set = 0;
    for (let u = 0; u < v; u++) if (graph[v] & (1 << u)) set |= 1 << place[u];
    return set;
  });
}

function mixed(x: number, salt: number): number {
  let h = Math.imul(x ^ Math.imul(salt, 0x9e3779b1), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 15), 0xc2b2ae35);
  return h ^ (h >>> 13);
}
