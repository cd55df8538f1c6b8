// Tables that sort by their heads and are filtered by a line of text.
const SHOWN = 150;  // rows at first

// `columns`: [title, value of a row, how it is shown, whether it is words].
function table(target, columns, rows, choose) {
  const section = target.closest("section");
  if (section) section.hidden = !rows.length;
  if (!rows.length) return { filter() {} };
  let order = null, up = false, most = SHOWN, wanted = "";
  const body = element("tbody"), head = element("tr"), more = element("button"), filter = element("input");
  const text = (row) => columns.map(([title, value, , words]) => (words ? value(row) : `${title}=${value(row)}`)).join(" ").toLowerCase();
  const cells = (row) => columns.map(([, value, show, words]) => element("td", (show || String)(value(row)), words ? "words" : ""));
  const fill = () => {
    const found = rows.filter((row) => wanted.split(" ").every((word) => !word || text(row).includes(word)));
    if (order) found.sort((a, b) => (up ? 1 : -1) * ((order(a) > order(b)) - (order(a) < order(b))));
    body.replaceChildren(...found.slice(0, most).map((row) => {
      const line = element("tr", undefined, choose ? "link" : "");
      line.append(...cells(row));
      if (choose) line.onclick = () => choose(row);
      line.classList.toggle("chosen", row === timeline.chosen);
      row.line = line;
      return line;
    }));
    more.hidden = found.length <= most;
    more.textContent = `${count(found.length - most)} more`;
  };
  columns.forEach(([title, value, , words]) => {
    const cell = element("th", title, words ? "words" : "");
    cell.onclick = () => {
      up = order === value ? !up : Boolean(words);
      order = value;
      for (const other of head.children) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", up ? "ascending" : "descending");
      fill();
    };
    head.append(cell);
  });
  filter.type = "search";
  filter.placeholder = "filter";
  filter.setAttribute("aria-label", "filter the table");
  filter.hidden = rows.length < 8;
  filter.oninput = () => { wanted = filter.value.toLowerCase(); most = SHOWN; fill(); };
  more.onclick = () => { most *= 8; fill(); };
  const top = element("thead"), made = element("table"), scroll = element("div", undefined, "scroll");
  top.append(head);
  made.append(top, body);
  scroll.append(made);
  target.replaceChildren(filter, scroll, more);
  fill();
  return { filter(value) { filter.value = value; filter.oninput(); } };
}

const time = (ps) => (ps ? us(ps) : "·");

// Columns of kinds that some row has time in.
function splitColumns(rows, split, share = () => 1) {
  const columns = groups.map((group, kind) => [group, (row) => split(row)[kind] / share(row), time]);
  return columns.filter((_, kind) => kind && rows.some((row) => split(row)[kind]));
}

function showRanks() {
  $("facts").textContent = [`${us(data.total)} µs simulated`,
    ...Object.entries(data.facts).map(([name, value]) => (name === "device" ? value : counted(value, name)))].join(" · ");
  $("outcome").textContent = data.outcome;
  $("outcome").hidden = !data.outcome;
  const lines = [...data.missing.map((line) => `the trace lacks ${line}`), ...data.lost.map((line) => `not on this page: ${line}`)];
  $("missing").replaceChildren(...lines.map((line) => element("li", line)));
  const longest = Math.max(...data.ranks.map((rank) => sum(rank.split)), 1);
  const row = (name, split) => {
    const made = element("div", undefined, "row");
    made.append(element("span", name), bar(split, longest), element("span", `${us(sum(split))} µs`));
    return made;
  };
  const rows = data.ranks.map((rank) => row(rank.name, rank.split));
  if (rows.length <= 8 || data.facts.systems) return $("ranks").replaceChildren(...rows);
  const all = groups.map((_, kind) => sum(data.ranks.map((rank) => rank.split[kind])) / rows.length);
  const rest = element("details");
  rest.append(element("summary", `each of the ${rows.length} ranks`), ...rows);
  $("ranks").replaceChildren(row("mean of all", all), rest);
}

function showLegend() {
  const used = new Set(data.ranks.flatMap((rank) => rank.split.flatMap((time, kind) => (time ? [kind] : []))));
  for (const lane of lanes) for (const kind of lane.kind) used.add(kind);
  data.kinds.forEach((name, kind) => {
    if (!used.has(kind)) return;
    const item = element("button"), swatch = element("i");
    swatch.style.background = `var(--k${kind})`;
    item.append(swatch, name);
    item.setAttribute("aria-pressed", "true");
    item.onclick = () => {
      if (!hidden.delete(kind)) hidden.add(kind);
      item.setAttribute("aria-pressed", String(!hidden.has(kind)));
      timeline.draw();
    };
    $("legend").append(item);
  });
}

function showTables() {
  const total = (row) => sum(row[row.length - 1]);
  table($("calls"), [
    ["call", (c) => c[0], String, true], ["count", (c) => c[1], count], ["total µs", total, time], ["each µs", (c) => total(c) / c[1], time],
    ...splitColumns(data.calls, (c) => c[2]),
  ], data.calls);
  table($("places"), [
    ["call", (c) => c[0], String, true], ["at", (c) => c[1], String, true], ["count", (c) => c[2], count], ["total µs", total, time],
    ["each µs", (c) => total(c) / c[2], time], ...splitColumns(data.places, (c) => c[3]),
  ], data.places);
  const many = (row) => row[row.length - 2];
  const means = (rows) => [["count", many, count], ["mean µs", (s) => total(s) / many(s), us], ...splitColumns(rows, (s) => s[s.length - 1], many)];
  table($("sizes"), [["bytes", (s) => s[0], count], ["protocol", (s) => s[1], String, true], ...means(data.sizes)], data.sizes);
  const protocols = new Map();
  for (const [bytes, name, times, split] of data.sizes) {
    const row = protocols.get(name) || [name, 0, 0, groups.map(() => 0)];
    row[1] += bytes * times;
    row[2] += times;
    split.forEach((time, kind) => { row[3][kind] += time; });
    protocols.set(name, row);
  }
  const rows = [...protocols.values()];
  table($("protocols"), [["protocol", (p) => p[0], String, true], ["bytes", (p) => p[1], count], ...means(rows)], rows);
  const messages = Math.max(sum(data.sizes.map(many)), 1), all = Math.max(sum(data.sizes.map(total)), 1);
  table($("firmware"), [
    ["function", (f) => f[0], String, true], ["worked µs", (f) => f[1] / messages, time], ["stalled µs", (f) => f[2] / messages, time],
    ["% of the messages' time", (f) => 100 * (f[1] + f[2]) / all, (share) => share.toFixed(1)],
  ], data.firmware);
  table($("blocks"), [
    ["block", (b) => b[0], String, true], ["event or counter", (b) => b[1], String, true], ["NIC", (b) => b[2]], ["times", (b) => b[3], count],
    ["first µs", (b) => b[4], us], ["last µs", (b) => b[5], us],
  ], data.blocks);
}
