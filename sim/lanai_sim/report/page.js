"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const colours = {
  "program": "#c9d2de", "host": "#4c78a8", "PIO": "#9ecae9", "NIC processor": "#f58518", "LBUS stalls": "#e45756",
  "DMA": "#54a24b", "wire": "#b279a2", "waiting for peer": "#eeca3b",
};
const $ = (id) => document.getElementById(id);
const us = (ps) => (ps / 1e6).toLocaleString("en", { minimumFractionDigits: 3, maximumFractionDigits: 3 });
const sum = (split) => Object.values(split).reduce((a, b) => a + b, 0);

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function bar(split, whole) {
  const made = element("div", undefined, "bar");
  for (const group of data.groups) {
    if (!split[group]) continue;
    const piece = element("span");
    piece.style.width = `${100 * split[group] / whole}%`;
    piece.style.background = colours[group];
    piece.title = `${group}: ${us(split[group])} µs, ${(100 * split[group] / whole).toFixed(1)} %`;
    made.append(piece);
  }
  return made;
}

// A table whose head sorts it. `columns`: [title, value of a row, how it is shown].
function table(target, columns, rows, choose) {
  const body = element("tbody");
  const fill = () => {
    body.replaceChildren(...rows.map((row) => {
      const line = element("tr");
      line.append(...columns.map(([, value, show]) => element("td", (show || String)(value(row)))));
      if (choose) line.onclick = () => choose(row, line);
      row.line = line;
      return line;
    }));
  };
  const head = element("tr");
  columns.forEach(([title, value], index) => {
    const cell = element("th", title);
    let up = false;
    cell.onclick = () => {
      up = !up;
      const order = (a, b) => (value(a) > value(b)) - (value(a) < value(b));
      rows.sort((a, b) => (up ? -order(a, b) : order(a, b)));
      fill();
    };
    head.append(cell);
  });
  const top = element("thead");
  top.append(head);
  fill();
  target.replaceChildren(top, body);
}

function showRanks() {
  $("facts").textContent = `${us(data.total)} µs simulated · ` +
    Object.entries(data.facts).map(([name, count]) => `${count.toLocaleString("en")} ${name}`).join(" · ");
  $("missing").textContent = data.missing.length ? `not on this page: ${data.missing.join("; ")}` : "";
  for (const group of data.groups) {
    const item = element("span");
    const swatch = element("i");
    swatch.style.background = colours[group];
    item.append(swatch, group);
    $("legend").append(item);
  }
  for (const rank of data.ranks) {
    const row = element("div", undefined, "row");
    row.append(element("span", `rank ${rank.rank}`), bar(rank.split, sum(rank.split)), element("span", `${us(sum(rank.split))} µs`));
    $("ranks").append(row);
  }
}

function showCalls() {
  const byName = new Map();
  for (const rank of data.ranks) {
    for (const call of rank.calls) {
      const seen = byName.get(call.name) || { name: call.name, count: 0, split: {} };
      seen.count += call.count;
      for (const [group, time] of Object.entries(call.split)) seen.split[group] = (seen.split[group] || 0) + time;
      byName.set(call.name, seen);
    }
  }
  table($("calls"), [
    ["call", (c) => c.name], ["count", (c) => c.count], ["total µs", (c) => sum(c.split), us], ["each µs", (c) => sum(c.split) / c.count, us],
    ...data.groups.slice(1).map((group) => [group, (c) => c.split[group] || 0, us]),
  ], [...byName.values()].sort((a, b) => sum(b.split) - sum(a.split)));
}

function choose(message, zoom = true) {
  for (const other of data.messages) other.line?.classList.toggle("chosen", other === message);
  $("chosen").textContent = `${message.id}: ${message.bytes} bytes from rank ${message.source} to rank ${message.target}, ` +
    `${message.protocol}, ${us(message.end - message.begin)} µs; ${message.body}`;
  const split = {};
  for (const [group, , begin, end] of message.pieces) split[group] = (split[group] || 0) + end - begin;
  const steps = element("table");
  table(steps, [
    ["what", (p) => p[0]], ["which", (p) => p[1]], ["from µs", (p) => p[2] - message.begin, us], ["for µs", (p) => p[3] - p[2], us],
  ], message.pieces.slice());
  const frame = element("div", undefined, "scroll");
  frame.append(steps);
  $("message").replaceChildren(bar(split, message.end - message.begin), frame);
  timeline.chosen = message;
  if (zoom) timeline.look(message.begin - (message.end - message.begin) * 0.1, message.end + (message.end - message.begin) * 0.1);
  else timeline.draw();
}

const timeline = {
  canvas: $("timeline"), left: 150, height: 20, begin: 0, end: Math.max(data.total, 1), chosen: null, byTrack: [],

  start() {
    this.byTrack = data.tracks.map(() => []);
    for (const slice of data.slices) this.byTrack[slice[0]].push(slice);
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const at = this.time(event.offsetX), factor = Math.exp(event.deltaY / 400);
      this.look(at - (at - this.begin) * factor, at + (this.end - at) * factor);
    }, { passive: false });
    let from = null, moved = false;
    this.canvas.onpointerdown = (event) => { from = event.offsetX; moved = false; this.canvas.setPointerCapture(event.pointerId); };
    this.canvas.onpointerup = (event) => { from = null; if (!moved) this.click(event); };
    this.canvas.onpointermove = (event) => {
      if (from === null) return this.point(event);
      const shift = this.time(from) - this.time(event.offsetX);
      if (Math.abs(event.offsetX - from) > 2) moved = true;
      from = event.offsetX;
      this.look(this.begin + shift, this.end + shift);
    };
    this.canvas.onpointerleave = () => { $("tip").hidden = true; };
    $("whole").onclick = () => this.look(0, data.total);
    window.addEventListener("resize", () => this.draw());
    this.draw();
  },

  get width() { return this.canvas.clientWidth; },
  x(time) { return this.left + (time - this.begin) / (this.end - this.begin) * (this.width - this.left); },
  time(x) { return this.begin + (x - this.left) / (this.width - this.left) * (this.end - this.begin); },

  look(begin, end) {
    if (end - begin < 1000) return;  // a nanosecond is as near as it gets
    this.begin = begin;
    this.end = end;
    this.draw();
  },

  draw() {
    const scale = window.devicePixelRatio || 1, rows = data.tracks.length, high = (rows + 1) * this.height;
    this.canvas.style.height = `${high}px`;
    this.canvas.width = this.width * scale;
    this.canvas.height = high * scale;
    const pen = this.canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    this.drawScale(pen, high);
    data.tracks.forEach((name, track) => this.drawTrack(pen, name, track));
    this.drawArrows(pen);
  },

  // From the call that sent a message to the moment at which it was there; the chosen one alone, if there is one.
  drawArrows(pen) {
    const row = (rank) => (data.tracks.indexOf(`rank ${rank} · MPI`) + 1.5) * this.height;
    const seen = (this.chosen ? [this.chosen] : data.messages).filter((one) => one.end >= this.begin && one.begin <= this.end);
    if (seen.length > 400) return;  // a thicket tells nothing
    pen.save();
    pen.beginPath();
    pen.rect(this.left, 0, this.width, this.canvas.clientHeight);
    pen.clip();
    pen.strokeStyle = pen.fillStyle = this.chosen ? "#b26a00" : "#4c78a8a0";
    for (const one of seen) {
      const x = this.x(one.begin), y = row(one.source), far = this.x(one.end), low = row(one.target);
      const angle = Math.atan2(low - y, far - x);
      pen.beginPath();
      pen.moveTo(x, y);
      pen.lineTo(far, low);
      pen.stroke();
      pen.beginPath();
      pen.moveTo(far, low);
      pen.lineTo(far - 7 * Math.cos(angle - 0.4), low - 7 * Math.sin(angle - 0.4));
      pen.lineTo(far - 7 * Math.cos(angle + 0.4), low - 7 * Math.sin(angle + 0.4));
      pen.fill();
    }
    pen.restore();
  },

  drawScale(pen, high) {
    const span = this.end - this.begin;
    let step = 10 ** Math.floor(Math.log10(span / 8));
    if (span / step > 40) step *= 5;
    else if (span / step > 16) step *= 2;
    pen.fillStyle = "#68758a";
    pen.strokeStyle = "#e6eaf0";
    for (let at = Math.ceil(this.begin / step) * step; at < this.end; at += step) {
      const x = this.x(at);
      if (x < this.left) continue;
      pen.beginPath();
      pen.moveTo(x, 0);
      pen.lineTo(x, high);
      pen.stroke();
      pen.fillText(`${us(at).replace(/\.?0+$/, "")} µs`, x + 3, this.height / 2);
    }
  },

  drawTrack(pen, name, track) {
    const y = (track + 1) * this.height;
    pen.fillStyle = track % 2 ? "#fff0" : "#f5f7fa80";
    pen.fillRect(this.left, y, this.width, this.height);
    let reached = -1;
    for (const slice of this.byTrack[track]) {
      const [, begin, end, title, message] = slice;
      if (end < this.begin || begin > this.end) continue;
      const x = Math.max(this.x(begin), this.left), width = Math.max(Math.min(this.x(end), this.width) - x, 0.5);
      if (x + width <= reached + 0.25) continue;  // hidden in a pixel already drawn
      reached = x + width;
      pen.fillStyle = this.colour(title, message);
      pen.fillRect(x, y + 2, width, this.height - 4);
      if (width > 30) {
        pen.save();
        pen.beginPath();
        pen.rect(x, y, width - 3, this.height);
        pen.clip();
        pen.fillStyle = "#1c2430";
        pen.fillText(title, x + 3, y + this.height / 2);
        pen.restore();
      }
    }
    pen.fillStyle = "#ffffff";
    pen.fillRect(0, y, this.left, this.height);
    pen.fillStyle = "#1c2430";
    pen.fillText(name, 6, y + this.height / 2);
  },

  colour(title, message) {
    if (this.chosen && message === this.chosen.id) return "#ffb000";
    let hash = 0;
    for (const letter of title) hash = (hash * 31 + letter.charCodeAt(0)) % 360;
    return `hsl(${hash} 45% ${this.chosen ? 88 : 78}%)`;
  },

  find(event) {
    const track = Math.floor(event.offsetY / this.height) - 1, at = this.time(event.offsetX);
    const near = (this.end - this.begin) / this.width;
    if (event.offsetX < this.left) return undefined;
    return (this.byTrack[track] || []).findLast((slice) => slice[1] - near <= at && at <= slice[2] + near);
  },

  point(event) {
    const slice = this.find(event), tip = $("tip");
    tip.hidden = !slice;
    if (!slice) return;
    tip.textContent = `${slice[3]}: ${us(slice[2] - slice[1])} µs` + (slice[4] >= 0 ? `, message ${slice[4]}` : "");
    tip.style.left = `${Math.min(event.offsetX + 12, this.width - 220)}px`;
    tip.style.top = `${event.offsetY + 14}px`;
  },

  click(event) {
    const slice = this.find(event), message = slice && data.messages.find((one) => one.id === slice[4]);
    if (message) choose(message, false);
  },
};

showRanks();
showCalls();
table($("messages"), [
  ["message", (m) => m.id], ["from", (m) => m.source], ["to", (m) => m.target], ["tag", (m) => m.tag], ["bytes", (m) => m.bytes],
  ["protocol", (m) => m.protocol], ["begin µs", (m) => m.begin, us], ["took µs", (m) => m.end - m.begin, us],
], data.messages, (message) => choose(message));
timeline.start();
document.body.dataset.ready = "yes";
