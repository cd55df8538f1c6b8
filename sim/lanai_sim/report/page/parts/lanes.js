// The timeline's lanes: a tree. A lane that is folded shows all below it together.
const redraws = [];  // to be called when colours have changed

const lanes = data.lanes.map((packed, number) => {
  const lane = { number, name: packed.name, about: packed.about || "", parent: packed.parent, children: [], folded: true, open: null, busy: packed.busy,
    begin: [], end: [], name_: [], kind: [], message: [], details: [], reach: [], values: null };
  if (packed.slices) {
    const many = packed.slices.begin.length;
    lane.begin = running(packed.slices.begin);
    lane.end = lane.begin.map((at, index) => at + packed.slices.length[index]);
    lane.name_ = unpack(packed.slices.name, many);
    lane.kind = unpack(packed.slices.kind, many);
    lane.message = unpack(packed.slices.message, many);
    lane.details = unpack(packed.slices.details, many);
    let far = 0;
    lane.reach = lane.end.map((at) => (far = Math.max(far, at)));  // no slice up to here ends later
  }
  if (packed.values) lane.values = { unit: packed.values.unit, time: running(packed.values.time), level: packed.values.level,
    most: Math.max(...packed.values.level, 1) };
  return lane;
});
for (const lane of lanes) if (lane.parent >= 0) lanes[lane.parent].children.push(lane);
const roots = lanes.filter((lane) => lane.parent < 0);
for (const lane of lanes) lane.depth = lane.parent < 0 ? 0 : lanes[lane.parent].depth + 1;

const title = (lane) => (lane.depth > 1 ? `${title(lanes[lane.parent])} · ${lane.name}` : lane.name);

// All lanes with slices at or below this one. Calls cover the host's work, so they are left out where that is there.
function leaves(lane) {
  if (lane.open) return lane.open;
  const found = lane.begin.length ? [lane] : [];
  for (const child of lane.children) found.push(...leaves(child));
  const work = found.filter((one) => one.name !== "MPI");
  lane.open = work.length ? work : found;
  return lane.open;
}

function visibleLanes() {
  const found = [], rest = [...roots].reverse();
  while (rest.length) {
    const lane = rest.pop();
    found.push(lane);
    if (!lane.folded) rest.push(...[...lane.children].reverse());
  }
  return found;
}

// Unfold level by level, as long as the rows are few.
function foldAtFirst() {
  for (let depth = 0; depth < 4; depth++) {
    const level = lanes.filter((lane) => lane.depth === depth && lane.children.length);
    if (visibleLanes().length + sum(level.map((lane) => lane.children.length)) > 44) break;
    for (const lane of level) lane.folded = false;
  }
}

// The first slice that may reach beyond a time.
function firstAfter(lane, time) {
  let low = 0, high = lane.reach.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.reach[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Time by kind of a lane that lost slices, from what it tells of each window.
function addBusy({ window, share }, found, begin, step, parts) {
  const kinds = data.kinds.length;
  for (const [kind, percents] of Object.entries(share)) {
    if (hidden.has(Number(kind))) continue;
    for (let part = 0; part < parts; part++) {
      const from = Math.max((begin + part * step) / window, 0), to = Math.max((begin + (part + 1) * step) / window, 0);
      let time = 0;
      for (let at = Math.floor(from); at < to && at < percents.length; at++) time += percents[at] * (Math.min(to, at + 1) - Math.max(from, at));
      found[part * kinds + Number(kind)] += time * window / 100;
    }
  }
}

// Time by kind in each of so many equal parts of [begin, end), of all lanes below. `seen`: of these slices; null: of all.
function shares(lane, begin, end, parts, seen) {
  const kinds = data.kinds.length, found = new Float64Array(parts * kinds), step = (end - begin) / parts;
  for (const leaf of leaves(lane)) {
    if (leaf.busy && !seen) {
      addBusy(leaf.busy, found, begin, step, parts);
      continue;
    }
    for (let index = firstAfter(leaf, begin); index < leaf.begin.length && leaf.begin[index] < end; index++) {
      const kind = leaf.kind[index];
      if (hidden.has(kind) || (seen && !seen(leaf, index))) continue;
      const from = Math.max(leaf.begin[index], begin), to = Math.min(leaf.end[index], end);
      const first = Math.floor((from - begin) / step), last = Math.min(Math.floor((to - begin) / step), parts - 1);
      if (first >= parts || last < first) continue;
      if (first === last) found[first * kinds + kind] += to - from;
      else {
        found[first * kinds + kind] += begin + (first + 1) * step - from;
        for (let part = first + 1; part < last; part++) found[part * kinds + kind] += step;
        found[last * kinds + kind] += to - (begin + last * step);
      }
    }
  }
  return found;
}
