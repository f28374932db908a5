// Charts are Vega-Lite's. Their colours are those of the page: drawn again when it turns dark or light.
const charts = { views: new Map(), dark: false };

function pageColour(name) {
  const probe = element("span", { style: "display:none;color:var(--" + name + ")" });
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

function chartConfig() {
  const ink = pageColour("ink"), quiet = pageColour("quiet"), line = pageColour("line"), accent = pageColour("accent");
  const palette = charts.dark
    ? ["#7fb2ff", "#ffb259", "#6fd6b5", "#ff8f8f", "#c6a6ff", "#ffe08a", "#8fe0ff", "#ffa6d9", "#b8d98a", "#d9b38c",
       "#4d7fd6", "#cf7a1c", "#2f9c7b", "#d05252", "#8f63e0", "#b79f2f", "#3aa3c9", "#cc5a9d", "#78a83f", "#a7adb8"]
    : ["#2c6fd1", "#d3730a", "#1a8f6e", "#c93a3a", "#7a4fc9", "#a98600", "#1590b5", "#c2428f", "#5f8a1f", "#8a5a2b",
       "#0b3c7d", "#f0a35e", "#0f5a45", "#f08080", "#43278a", "#665800", "#69bfdb", "#7d1f58", "#9bc64f", "#6b7280"];
  return {
    background: null,
    font: getComputedStyle(document.body).fontFamily,
    view: { stroke: null },
    axis: {
      labelColor: ink, titleColor: quiet, titleFontWeight: "normal", gridColor: line, domainColor: line,
      tickColor: line, labelFontSize: 12, titleFontSize: 12,
    },
    axisY: { domain: false, ticks: false, labelPadding: 6 },
    legend: { labelColor: ink, titleColor: quiet, titleFontWeight: "normal", labelFontSize: 12, symbolStrokeWidth: 2 },
    style: { "on-chart": { fill: ink, fontSize: 12 }, guide: { fill: ink }, median: { color: ink }, border: { color: ink } },
    bar: { color: accent }, rule: { color: accent }, line: { color: accent, strokeWidth: 1.8 }, circle: { color: accent }, text: { color: ink },
    range: { category: palette, heatmap: [pageColour("low"), accent], ramp: [pageColour("low"), accent] },
  };
}

/** Draw a chart into a place; returns its view, or null where charts can't be drawn. */
async function draw(place, specification) {
  const before = charts.views.get(place);
  if (before) before.finalize();
  try {
    const result = await window.hdpkitVegaEmbed(place, specification, {
      mode: "vega-lite", actions: false, renderer: "svg", ast: true, config: chartConfig(),
      tooltip: { theme: charts.dark ? "dark" : "light" },
    });
    // The place has a role and a text of its own; the drawing would be read out piece by piece.
    for (const drawing of place.querySelectorAll("svg")) drawing.setAttribute("aria-hidden", "true");
    charts.views.set(place, result);
    return result.view;
  } catch (error) {
    console.error(error);
    place.replaceChildren(element("p", { class: "note" }, "This chart could not be drawn. The table has its numbers."));
    return null;
  }
}

async function drawAll() {
  for (const place of document.querySelectorAll("[data-chart]")) {
    const view = await draw(place, page.data.charts[place.dataset.chart]);
    if (view === null || place.dataset.chart !== "map") continue;
    charts.map = view;
    view.addEventListener("click", (event, item) => {
      if (item && item.datum && item.datum.number) location.hash = "topic-" + item.datum.number;
    });
    view.addResizeListener(() => requestAnimationFrame(separateWords));
    markOnMap();
  }
}

function markOnMap() {
  if (charts.map) charts.map.signal("chosen", page.topic || 0).runAsync().then(separateWords);
}

/** Hide words on the map that overlap those of the chosen topic or of a larger one; how many depends on the width. */
function separateWords() {
  const place = document.querySelector("[data-chart=map]");
  const words = [...place.querySelectorAll("g.mark-text.role-mark text")];
  for (const word of words) word.style.visibility = "";
  const chosen = (word) => Number(((word.__data__ || {}).datum || {}).number) === page.topic;
  const kept = [];
  for (const word of [...words.filter(chosen), ...words.filter((word) => !chosen(word))]) {
    const box = word.getBoundingClientRect();
    const free = kept.every((other) => box.right < other.left || other.right < box.left || box.bottom < other.top || other.bottom < box.top);
    if (free) kept.push(box);
    else word.style.visibility = "hidden";
  }
}
