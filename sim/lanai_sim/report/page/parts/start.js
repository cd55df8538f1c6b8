// The messages, the one that is chosen, and the page's begin.
const packed = data.messages, many = packed.id.length;
const begins = running(packed.begin), protocols = unpack(packed.protocol, many);
const messages = packed.id.map((id, index) => ({
  id, source: packed.source[index], target: packed.target[index], tag: packed.tag[index], bytes: packed.bytes[index],
  protocol: data.texts[protocols[index]], begin: begins[index], end: begins[index] + packed.length[index],
  body: data.texts[packed.body[index]], calls: data.texts[packed.calls[index]], pieces: packed.pieces[index],
}));
const byId = new Map(messages.map((message) => [message.id, message]));
for (const lane of lanes) {
  const rank = /^rank (\d+)$/.exec(lane.name) || (lane.parent >= 0 && lane.name === "MPI" && /^rank (\d+)$/.exec(lanes[lane.parent].name));
  if (rank) lane.rank = Number(rank[1]);
}

// The moments of a message: [kind, what, from, for].
function moments(message) {
  const found = [];
  let at = 0;
  for (let index = 0; index < message.pieces.length; index += 3) {
    const [kind, detail, length] = message.pieces.slice(index, index + 3);
    found.push([kind, data.texts[detail], at, length]);
    at += length;
  }
  return found;
}

function choose(message, zoom = true) {
  timeline.chosen = message;
  for (const one of messages) one.line?.classList.toggle("chosen", one === message);
  if (!message) return timeline.draw();
  const span = message.end - message.begin;
  $("chosen").textContent = `${message.id}: ${count(message.bytes)} bytes from rank ${message.source} to rank ${message.target}, tag ${message.tag}, ` +
    `${message.protocol}, ${us(span)} µs; ${message.calls}; ${message.body}`;
  const split = groups.map(() => 0), steps = element("div"), pieces = moments(message);
  for (const [kind, , , length] of pieces) split[kind] += length;
  table(steps, [
    ["what", (p) => data.kinds[p[0]], String, true], ["which", (p) => p[1], String, true], ["from µs", (p) => p[2], us], ["for µs", (p) => p[3], us],
  ], pieces);
  $("message").replaceChildren(bar(split, span || 1), steps);
  if (zoom) timeline.look(message.begin - span * 0.1, message.end + span * 0.1);
  else timeline.draw();
}

readColours();
showRanks();
showLegend();
showTables();
const messageTable = table($("messages"), [
  ["message", (m) => m.id], ["way", (m) => `${m.source}→${m.target}`, String, true], ["tag", (m) => m.tag], ["bytes", (m) => m.bytes, count],
  ["protocol", (m) => m.protocol, String, true], ["begin µs", (m) => m.begin, us], ["took µs", (m) => m.end - m.begin, us],
  ["calls", (m) => m.calls, String, true],
], messages, choose);
showMatrix();
timeline.start();
timeline.paint();
document.body.dataset.ready = "yes";
