// What a user does on the timeline: wheel, drag, keys, point, search.
const search = {
  found: [], at: -1,

  // Slices whose name, details or message match.
  look(text) {
    const wanted = text.trim().toLowerCase(), number = /^(?:message )?#?(\d+)$/.exec(wanted);
    this.found = [];
    this.at = -1;
    timeline.wanted = null;
    if (wanted) {
      const texts = new Set(data.texts.flatMap((one, index) => (one.toLowerCase().includes(wanted) ? [index] : [])));
      timeline.wanted = (lane, index) => texts.has(lane.name_[index]) || texts.has(lane.details[index])
        || (number !== null && lane.message[index] === Number(number[1]));
      for (const lane of lanes) {
        for (let index = 0; index < lane.begin.length; index++) if (timeline.wanted(lane, index)) this.found.push([lane, index]);
      }
      this.found.sort((a, b) => a[0].begin[a[1]] - b[0].begin[b[1]]);
    }
    $("found").textContent = wanted ? `${count(this.found.length)} found` : "";
    timeline.draw();
  },

  step(by) {
    if (!this.found.length) return;
    this.at = (this.at + by + this.found.length + (this.at < 0 && by < 0 ? 1 : 0)) % this.found.length;
    const [lane, index] = this.found[this.at], span = Math.max(4 * (lane.end[index] - lane.begin[index]), 20000);
    const middle = (lane.begin[index] + lane.end[index]) / 2;
    timeline.reveal(lane);
    timeline.look(middle - span / 2, middle + span / 2);
    $("found").textContent = `${count(this.at + 1)} of ${count(this.found.length)}: ${title(lane)}`;
  },
};

// What the tooltip says of a slice: how long, what is known of it, and what caused it.
function aboutSlice(lane, index) {
  const lines = [`${data.texts[lane.name_[index]]}: ${us(lane.end[index] - lane.begin[index])} µs`, `${title(lane)}, from ${us(lane.begin[index])} µs`];
  if (lane.about) lines.push(lane.about);
  const details = data.texts[lane.details[index]];
  if (details) lines.push(details);
  const message = byId.get(lane.message[index]);
  if (message) lines.push(`for message ${message.id}: ${count(message.bytes)} bytes from rank ${message.source} to rank ${message.target}, tag ${message.tag}, ` +
    `${message.protocol}`, `caused by ${message.calls}`);
  else if (lane.message[index] >= 0) lines.push(`for message ${lane.message[index]}`);
  return lines.join("\n");
}

function aboutPlace(row, x) {
  const { lane } = row, near = (timeline.end - timeline.begin) / (timeline.width - timeline.left), at = timeline.time(x);
  if (lane.values && !lane.begin.length) {
    const { time, level, unit } = lane.values;
    let index = time.findIndex((one) => one > at);
    index = index < 0 ? time.length - 1 : index - 1;
    return `${title(lane)}: ${counted(index < 0 ? 0 : level[index], unit)}`;
  }
  if (lane.begin.length && !(lane.folded && lane.children.length)) {
    const index = timeline.find(row, x);
    return index < 0 ? "" : aboutSlice(lane, index);
  }
  const split = shares(lane, at - near, at + near, 1, null), all = 2 * near * leaves(lane).length;
  const lines = [...split].flatMap((time, kind) => (time ? [`${data.kinds[kind]}: ${(100 * time / all).toFixed(1)} %`] : []));
  return lines.length ? [`${title(lane)}: ${counted(leaves(lane).length, "lanes")}, busy`, ...lines].join("\n") : "";
}

timeline.listen = function listen() {
  const { canvas } = this;
  let from = null, moved = false, boxed = false;
  canvas.addEventListener("wheel", (event) => {
    if (event.offsetX < this.left) return;  // the frame scrolls
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.move((event.deltaX || event.deltaY) / this.width);
    else this.zoom(Math.exp(event.deltaY / 400), event.offsetX);
  }, { passive: false });
  this.frame.addEventListener("scroll", () => this.draw());
  canvas.onpointerdown = (event) => {
    if (event.offsetX < this.left) return;
    from = event.offsetX;
    moved = false;
    boxed = event.shiftKey || $("box").getAttribute("aria-pressed") === "true";
    canvas.setPointerCapture(event.pointerId);
  };
  canvas.onpointermove = (event) => {
    if (from === null) return this.point(event);
    if (Math.abs(event.offsetX - from) > 2) moved = true;
    if (boxed) {
      this.box = [from, Math.max(event.offsetX, this.left)];
      return this.draw();
    }
    const shift = this.time(from) - this.time(event.offsetX);
    from = event.offsetX;
    this.look(this.begin + shift, this.end + shift);
  };
  canvas.onpointerup = (event) => {
    const box = this.box;
    this.box = null;
    if (box && moved) this.look(this.time(Math.min(...box)), this.time(Math.max(...box)));
    else if (!moved) this.click(event);
    from = null;
  };
  canvas.onpointerleave = () => { this.pointed = null; this.draw(); tell(""); };
  this.listenToTools();
};

timeline.listenToTools = function listenToTools() {
  const toggle = () => {
    const unfold = lanes.some((lane) => lane.children.length && lane.folded);
    for (const lane of lanes) lane.folded = !unfold;
    this.layOut();
  };
  $("whole").onclick = () => this.look(0, data.total);
  $("nearer").onclick = () => this.zoom(0.5);
  $("farther").onclick = () => this.zoom(2);
  $("box").onclick = () => $("box").setAttribute("aria-pressed", String($("box").getAttribute("aria-pressed") !== "true"));
  $("fold").onclick = toggle;
  $("search").oninput = () => search.look($("search").value);
  $("search").onkeydown = (event) => { if (event.key === "Enter") search.step(event.shiftKey ? -1 : 1); };
  $("after").onclick = () => search.step(1);
  $("before").onclick = () => search.step(-1);
  const keys = {
    ArrowLeft: () => this.move(-0.2), ArrowRight: () => this.move(0.2), "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2),
    0: () => this.look(0, data.total), "/": () => $("search").focus(), n: () => search.step(1), N: () => search.step(-1), f: toggle,
    Escape: () => { this.box = null; choose(null); $("search").value = ""; search.look(""); },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || (event.target.tagName === "INPUT" && event.key !== "Escape")) return;
    if (!Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    event.target.blur?.();
    keys[event.key]();
  });
};

timeline.point = function point(event) {
  const row = this.row(event.offsetY);
  this.canvas.style.cursor = event.offsetX < this.left && row?.lane.children.length ? "pointer" : "grab";
  let rank = row?.lane;
  while (rank && rank.rank === undefined) rank = lanes[rank.parent];
  this.pointed = rank && event.offsetX >= this.left ? { rank: rank.rank, at: this.time(event.offsetX) } : null;
  this.draw();
  if (!row) return tell("");
  const name = [title(row.lane), row.lane.about].filter(Boolean).join("\n");
  tell(event.offsetX < this.left ? name : aboutPlace(row, event.offsetX), event.clientX, event.clientY);
};

timeline.click = function click(event) {
  const row = this.row(event.offsetY);
  if (!row) return;
  if (row.lane.children.length && (event.offsetX < this.left || row.lane.folded)) {
    row.lane.folded = !row.lane.folded;
    return this.layOut();
  }
  const index = this.find(row, event.offsetX), message = index >= 0 && byId.get(row.lane.message[index]);
  if (message) choose(message, false);
};
