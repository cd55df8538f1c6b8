// Who sent to whom: a cell for each pair, which stands out from the page the more, the more was sent. The colours are
// those of the scale cividis, backwards on a light page.
const STOPS = [[0, 34, 78], [59, 75, 109], [112, 113, 115], [167, 155, 109], [223, 202, 78], [254, 232, 56]];

function cividis(share) {
  const at = Math.min(share, 0.9999) * (STOPS.length - 1), low = Math.floor(at);
  return `rgb(${STOPS[low].map((value, part) => Math.round(value + (STOPS[low + 1][part] - value) * (at - low))).join(" ")})`;
}

function showMatrix(narrow) {
  const target = $("matrix"), size = data.ranks.length;
  target.closest("section").hidden = !data.matrix.length;
  if (!data.matrix.length) return;
  const wide = Math.min(target.clientWidth || 500, 560), left = 34, cell = Math.max(4, Math.min(44, Math.floor((wide - left) / size)));
  const canvas = element("canvas"), caption = element("p", undefined, "hint"), choice = element("button");
  let what = 3;  // bytes; 2: messages
  const names = { 2: "messages", 3: "bytes" };
  const draw = () => {
    const scale = devicePixelRatio || 1, edge = left + size * cell + 1;
    canvas.style.width = canvas.style.height = `${edge}px`;
    canvas.width = canvas.height = edge * scale;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.fillStyle = inks.band;
    pen.fillRect(left, left, size * cell, size * cell);
    const light = !matchMedia("(prefers-color-scheme: dark)").matches;
    const most = Math.max(...data.matrix.map((pair) => pair[what]));
    for (const pair of data.matrix) {
      const share = Math.log1p(pair[what]) / Math.log1p(most || 1);
      pen.fillStyle = cividis(light ? 1 - share : share);
      pen.fillRect(left + pair[1] * cell, left + pair[0] * cell, Math.max(cell - 1, 1), Math.max(cell - 1, 1));
    }
    pen.fillStyle = inks.soft;
    pen.font = "10px system-ui, sans-serif";
    pen.textAlign = "center";
    const every = Math.ceil(22 / cell);
    for (let rank = 0; rank < size; rank += every) {
      pen.fillText(rank, left + (rank + 0.5) * cell, left - 5);
      pen.fillText(rank, left - 12, left + (rank + 0.5) * cell + 4);
    }
    pen.textAlign = "left";
    pen.fillText("from ↓ to →", 0, 10);
    choice.textContent = `show ${names[5 - what]}`;
    caption.textContent = `${names[what]}, from 1 (${light ? "bright" : "dark"}) to ${count(most)} (${light ? "dark" : "bright"}), on a logarithmic scale. Click a cell for its messages.`;
  };
  const pair = (event) => {
    const [to, from] = [event.offsetX, event.offsetY].map((at) => Math.floor((at - left) / cell));
    return data.matrix.find((one) => one[0] === from && one[1] === to);
  };
  canvas.onpointermove = (event) => {
    const one = pair(event);
    tell(one ? `rank ${one[0]} to rank ${one[1]}: ${counted(one[2], "messages")}, ${counted(one[3], "bytes")}` : "", event.clientX, event.clientY);
  };
  canvas.onpointerleave = () => tell("");
  canvas.onclick = (event) => {
    const one = pair(event);
    if (one) messageTable.filter(`${one[0]}→${one[1]}`);
    if (one) $("messages-section").scrollIntoView({ behavior: "smooth" });
  };
  choice.onclick = () => { what = 5 - what; draw(); };
  target.replaceChildren(choice, caption, canvas);
  draw();
  redraws.push(draw);
}
