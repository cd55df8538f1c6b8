// What all parts use: the data, elements, numbers, bars, and the tooltip.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const us = (ps) => (ps / 1e6).toLocaleString("en", { minimumFractionDigits: 3, maximumFractionDigits: 3 });
const count = (number) => number.toLocaleString("en");
const counted = (number, words) => `${count(number)} ${number === 1 && /^\w+$/.test(words) ? words.replace(/s$/, "") : words}`;
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
const groups = data.kinds.slice(0, data.groups);
const CALL = data.kinds.indexOf("MPI call");
const hidden = new Set();  // kinds that the legend has switched off

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// Numbers of a column that is one number if all are the same.
const unpack = (column, length) => (Array.isArray(column) ? column : new Array(length).fill(column));

function running(differences) {
  let at = 0;
  return differences.map((step) => (at += step));
}

let inks = [];
function readColours() {
  const style = getComputedStyle(document.documentElement);
  inks = data.kinds.map((_, kind) => style.getPropertyValue(`--k${kind}`).trim());
  for (const name of ["ink", "soft", "line", "paper", "band", "warn"]) inks[name] = style.getPropertyValue(`--${name}`).trim();
}

function bar(split, whole) {
  const made = element("div", undefined, "bar");
  split.forEach((time, kind) => {
    if (!time) return;
    const piece = element("span");
    piece.style.width = `${100 * time / whole}%`;
    piece.style.background = `var(--k${kind})`;
    piece.dataset.tip = `${data.kinds[kind]}: ${us(time)} µs, ${(100 * time / whole).toFixed(1)} %`;
    made.append(piece);
  });
  return made;
}

function tell(text, x, y) {
  const tip = $("tip");
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 6))}px`;
  tip.style.top = `${y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 16}px`;
}

document.addEventListener("pointerover", (event) => {
  const tipped = event.target.closest?.("[data-tip]");
  if (tipped) tell(tipped.dataset.tip, event.clientX, event.clientY);
  else if (event.target.tagName !== "CANVAS") tell("");
});
