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
    range: { category: page.data.palette, heatmap: [pageColour("low"), accent], ramp: [pageColour("low"), accent] },
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
