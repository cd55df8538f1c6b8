// The timeline on its canvas: zoom, move, fold, point. Only rows in sight are drawn.
const HEAD = 22, ROW = 20, PLOT = 28, TOP = 40, LETTER = 6.4;  // pixels
const FONT = "11px system-ui, sans-serif", indent = (lane) => 6 + 12 * lane.depth;

const timeline = {
  canvas: $("timeline"), frame: $("frame"), begin: 0, end: Math.max(data.total, 1), chosen: null, pointed: null, rows: [], box: null, wanted: null,

  start() {
    foldAtFirst();
    this.measureNames();
    this.layOut();
    this.listen();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); redraws.forEach((draw) => draw()); });
    redraws.push(() => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.frame);
  },

  // Names stand in a column as wide as the longest one, but at most half of the page.
  measureNames() {
    const pen = this.canvas.getContext("2d");
    pen.font = FONT;
    for (const lane of lanes) lane.wide = indent(lane) + pen.measureText(this.name(lane)).width;
    this.names = lanes.reduce((most, lane) => Math.max(most, Math.ceil(lane.wide)), 90) + 6;
  },

  name(lane) {
    const many = lane.depth === 0 && lane.children.length > 1 ? ` (${lane.children.length})` : "";
    return `${lane.children.length ? (lane.folded ? "▸ " : "▾ ") : ""}${lane.name}${many}`;
  },

  // Rows in sight, and where each begins.
  layOut() {
    let at = HEAD;
    this.rows = visibleLanes().map((lane) => {
      const row = { lane, top: at, high: lane.depth === 0 ? TOP : lane.values && !lane.begin.length ? PLOT : ROW };
      at += row.high;
      return row;
    });
    this.high = at;
    $("space").style.height = `${at + 2}px`;
    $("fold").textContent = lanes.some((lane) => lane.children.length && lane.folded) ? "unfold all" : "fold all";
    this.draw();
  },

  get width() { return this.canvas.clientWidth; },
  get left() { return Math.min(this.names, this.width >> 1); },
  x(time) { return this.left + (time - this.begin) / (this.end - this.begin) * (this.width - this.left); },
  time(x) { return this.begin + (x - this.left) / (this.width - this.left) * (this.end - this.begin); },

  look(begin, end) {
    const span = Math.max(end - begin, 1000), margin = data.total * 0.05;  // a nanosecond is as near as it gets
    if (span > data.total * 1.2) return this.look(-margin, data.total + margin);
    const shift = Math.max(-margin - begin, 0) - Math.max(begin + span - data.total - margin, 0);
    this.begin = begin + shift;
    this.end = this.begin + span;
    this.draw();
  },

  zoom(factor, x = (this.left + this.width) / 2) {
    const at = this.time(x);
    this.look(at - (at - this.begin) * factor, at + (this.end - at) * factor);
  },

  move(share) {
    const shift = (this.end - this.begin) * share;
    this.look(this.begin + shift, this.end + shift);
  },

  draw() {
    if (this.queued) return;
    this.queued = true;
    requestAnimationFrame(() => { this.queued = false; this.paint(); });
  },

  paint() {
    const scale = devicePixelRatio || 1, high = Math.min(this.high + 2, Math.max(this.frame.clientHeight, 60));
    if (this.canvas.width !== Math.round(this.width * scale) || this.canvas.height !== Math.round(high * scale)) {
      this.canvas.style.height = `${high}px`;
      this.canvas.width = Math.round(this.width * scale);
      this.canvas.height = Math.round(high * scale);
    }
    const pen = this.canvas.getContext("2d"), top = this.frame.scrollTop;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.fillStyle = inks.paper;
    pen.fillRect(0, 0, this.width, high);
    pen.font = FONT;
    pen.textBaseline = "middle";
    this.paintScale(pen, high);
    for (const row of this.rows) {
      const y = row.top - top;
      if (y + row.high < 0 || y > high) continue;
      if (row.lane.depth === 0) { pen.fillStyle = inks.band; pen.fillRect(this.left, y, this.width, row.high); }
      if (row.lane.values && !row.lane.begin.length) this.paintValues(pen, row, y);
      else if (row.lane.begin.length && !(row.lane.folded && row.lane.children.length)) this.paintLane(pen, row, y);
      else if (row.lane.folded || row.lane.depth === 0) this.paintTogether(pen, row, y);
      this.paintName(pen, row, y);
    }
    this.paintArrows(pen, top, high);
    pen.fillStyle = inks.paper;
    pen.fillRect(0, 0, this.width, HEAD);
    this.paintScale(pen, HEAD, true);
    if (this.box) {
      pen.fillStyle = `${inks[1]}30`;
      pen.fillRect(Math.min(...this.box), 0, Math.abs(this.box[1] - this.box[0]), high);
    }
  },

  paintScale(pen, high, words = false) {
    const span = this.end - this.begin, room = (this.width - this.left) / 90;
    let step = 10 ** Math.floor(Math.log10(span / room));
    for (const factor of [2, 2.5, 2]) if (span / step > room) step *= factor;
    for (let at = Math.ceil(this.begin / step) * step; at < this.end; at += step) {
      const x = Math.round(this.x(at)) + 0.5;
      if (x < this.left) continue;
      pen.fillStyle = words ? inks.soft : inks.line;
      const told = words ? `${us(Math.round(at)).replace(/\.?0+$/, "") || 0} µs` : "";
      if (words && x + 3 + pen.measureText(told).width <= this.width) pen.fillText(told, x + 3, HEAD / 2);
      if (!words) pen.fillRect(x, 0, 1, high);
    }
  },

  paintName(pen, row, y) {
    const { lane } = row;
    pen.fillStyle = inks.paper;
    pen.fillRect(0, y, this.left, row.high);
    pen.fillStyle = lane.children.length ? inks.ink : inks.soft;
    let name = this.name(lane);
    if (lane.wide > this.left) while (name.length > 2 && indent(lane) + pen.measureText(name).width > this.left) name = `${name.slice(0, -2)}…`;
    pen.fillText(name, indent(lane), y + row.high / 2);
  },

  // Is a slice to be seen in full colour?
  marked(lane, index) {
    if (this.chosen && lane.message[index] !== this.chosen.id) return false;
    return !this.wanted || this.wanted(lane, index);
  },

  // A lane that lost slices shows behind them how busy it was.
  paintLane(pen, row, y) {
    if (row.lane.busy && !this.chosen && !this.wanted) {
      pen.globalAlpha = 0.4;
      this.paintTogether(pen, row, y, 1);
      pen.globalAlpha = 1;
    }
    this.paintSlices(pen, row.lane, y);
  },

  // Narrow slices of one kind that touch are drawn as one; what is hidden in a pixel already drawn is not drawn.
  paintSlices(pen, lane, y) {
    const { begin, end, kind } = lane, dim = this.chosen || this.wanted, labels = [];
    let run = null, reached = -1;
    const put = () => {
      if (!run) return;
      pen.globalAlpha = run.marked ? 1 : 0.22;
      pen.fillStyle = inks[run.kind];
      pen.fillRect(run.x, y + 2, run.far - run.x - (run.wide ? 0.7 : 0), ROW - 4);
      run = null;
    };
    for (let index = firstAfter(lane, this.begin); index < begin.length && begin[index] <= this.end; index++) {
      if (hidden.has(kind[index])) continue;
      const x = Math.max(this.x(begin[index]), this.left), far = Math.max(Math.min(this.x(end[index]), this.width), x + 1);
      const marked = !dim || this.marked(lane, index), wide = far - x > 4;
      if (far <= reached + 0.5 && !wide && !(dim && marked)) continue;
      if (run && !wide && !run.wide && run.kind === kind[index] && run.marked === marked && x <= run.far + 0.6) run.far = Math.max(run.far, far);
      else {
        put();
        run = { x, far, kind: kind[index], marked, wide };
      }
      reached = Math.max(reached, far);
      if (far - x > 34) labels.push([x, far, index, marked]);
    }
    put();
    for (const [x, far, index, marked] of labels) {
      pen.globalAlpha = marked ? 1 : 0.4;
      pen.fillStyle = marked ? legible(inks[kind[index]]) : inks.soft;
      pen.fillText(data.texts[lane.name_[index]].slice(0, (far - x - 6) / LETTER), x + 3, y + ROW / 2, far - x - 6);
    }
    pen.globalAlpha = 1;
  },

  // Of a folded lane: how much of what was going on, part by part. The tallest part is as high as the row, or is busy
  // for this `share` of the time.
  paintTogether(pen, { lane, high: row }, y, share = 1 / 16) {
    const parts = Math.max(Math.floor((this.width - this.left) / 2), 1), kinds = data.kinds.length;
    const seen = this.chosen || this.wanted ? (leaf, index) => this.marked(leaf, index) : null;
    const found = shares(lane, this.begin, this.end, parts, seen);
    const whole = (this.end - this.begin) / parts * Math.max(leaves(lane).length, 1);
    let most = 0;
    for (let part = 0; part < parts; part++) {
      let all = 0;
      for (let kind = 0; kind < kinds; kind++) all += found[part * kinds + kind];
      most = Math.max(most, all);
    }
    const unit = (row - 4) / Math.max(most, whole * share), below = new Float64Array(parts);
    for (let kind = 0; kind < kinds; kind++) {
      pen.fillStyle = inks[kind];
      for (let part = 0; part < parts;) {
        const time = found[part * kinds + kind], base = below[part];
        let next = part;  // parts that look the same are one rectangle
        const same = (one) => !one === !time && Math.abs(one - time) * unit < 0.3;  // some time never looks like none
        while (next < parts && same(found[next * kinds + kind]) && Math.abs(below[next] - base) * unit < 0.3) {
          below[next] += found[next * kinds + kind];
          next++;
        }
        if (time * unit > 0.05) pen.fillRect(this.left + 2 * part, y + row - 2 - (base + time) * unit, 2 * (next - part), time * unit);
        part = next;
      }
    }
  },

  paintValues(pen, row, y) {
    const { time, level, most } = row.lane.values, base = y + row.high - 3, scale = (row.high - 6) / most;
    pen.fillStyle = `${inks[1]}90`;
    for (let index = 0; index < time.length; index++) {
      const next = index + 1 < time.length ? time[index + 1] : data.total;
      if (next < this.begin || time[index] > this.end || !level[index]) continue;
      const x = Math.max(this.x(time[index]), this.left), far = Math.min(this.x(next), this.width);
      pen.fillRect(x, base - level[index] * scale, Math.max(far - x, 0.5), level[index] * scale);
    }
    pen.fillStyle = inks.line;
    pen.fillRect(this.left, base, this.width, 1);
    const told = `up to ${counted(most, row.lane.values.unit)}`, wide = pen.measureText(told).width;
    pen.globalAlpha = 0.75;
    pen.fillStyle = inks.paper;
    pen.fillRect(this.width - wide - 8, y + 2, wide + 8, 14);
    pen.globalAlpha = 1;
    pen.fillStyle = inks.ink;
    pen.fillText(told, this.width - wide - 4, y + 9);
  },

  // Messages with arrows: the chosen one, else those that are under way where the pointer is on a rank. All at once
  // would cover the lanes.
  arrows() {
    if (this.chosen) return [this.chosen];
    if (!this.pointed) return [];
    const { rank, at } = this.pointed;
    return messages.filter((one) => (one.source === rank || one.target === rank) && one.begin <= at && one.end >= at);
  },

  // From the call that sent a message to the moment at which it was there.
  paintArrows(pen, top, high) {
    const places = new Map();
    for (const row of this.rows) {
      if (row.lane.rank === undefined) continue;
      const at = places.get(row.lane.rank);
      if (!at || row.lane.name === "MPI") places.set(row.lane.rank, row.top + row.high / 2 - top);
    }
    pen.save();
    pen.beginPath();
    pen.rect(this.left, HEAD, this.width, high);
    pen.clip();
    pen.lineJoin = "round";
    for (const one of this.arrows()) {
      const y = places.get(one.source), low = places.get(one.target);
      if (y === undefined || low === undefined) continue;
      const x = this.x(one.begin), far = this.x(one.end), angle = Math.atan2(low - y, far - x);
      pen.beginPath();
      pen.moveTo(x, y);
      pen.lineTo(far, low);
      pen.moveTo(far - 9 * Math.cos(angle - 0.4), low - 9 * Math.sin(angle - 0.4));
      pen.lineTo(far, low);
      pen.lineTo(far - 9 * Math.cos(angle + 0.4), low - 9 * Math.sin(angle + 0.4));
      for (const [colour, wide] of [[inks.paper, 5], [inks.ink, 2]]) {  // an edge, to stand out from any lane
        pen.strokeStyle = colour;
        pen.lineWidth = wide;
        pen.stroke();
      }
    }
    pen.restore();
  },

  row(y) {
    const at = y + this.frame.scrollTop;
    return y < HEAD ? undefined : this.rows.find((row) => at >= row.top && at < row.top + row.high);
  },

  find(row, x) {
    const { lane } = row, at = this.time(x), near = (this.end - this.begin) / (this.width - this.left);
    let found = -1;
    for (let index = firstAfter(lane, at - near); index < lane.begin.length && lane.begin[index] - near <= at; index++) {
      if (!hidden.has(lane.kind[index]) && lane.end[index] + near >= at) found = index;
    }
    return found;
  },

  reveal(lane) {
    for (let one = lane; one.parent >= 0; one = lanes[one.parent]) lanes[one.parent].folded = false;
    this.layOut();
    const row = this.rows.find((one) => one.lane === lane);
    if (row.top < this.frame.scrollTop + HEAD || row.top + row.high > this.frame.scrollTop + this.frame.clientHeight) {
      this.frame.scrollTop = row.top - this.frame.clientHeight / 2;
    }
  },
};

function legible(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return 0.299 * red + 0.587 * green + 0.114 * blue > 125 ? "#111111" : "#ffffff";
}
