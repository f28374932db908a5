"use strict";
// Everything that comes from a corpus becomes a text node here, never markup.
const page = { data: JSON.parse(document.getElementById("data").textContent) };

/** Make an element; children are elements or texts. */
function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") made.className = value;
    else if (key === "share") made.style.setProperty("--share", value);
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** A text of its own direction of writing. */
const bdi = (text) => element("bdi", {}, text);
const byId = (id) => document.getElementById(id);
const percent = (share, digits = 1) => (100 * share).toFixed(digits).replace(/^-(?=[0.]*$)/, "") + "%";
const nouns = page.data.nouns;
/** What a topic is called in a text: its name where topics have names, as signatures do, or its number. */
const topicName = (number) => page.data.named ? topicOf(number).label : nouns.topic + " " + number;
const topicLink = (number, text = null) =>
  element("a", { href: "#topic-" + number, class: "topic" },
    page.data.named ? null : element("span", { class: "number" }, String(number)), page.data.named || text === null ? null : " ", text === null ? null : bdi(text));
const titled = (noun) => noun[0].toUpperCase() + noun.slice(1);
const count = (number, one, many = one + "s") => number.toLocaleString("en") + " " + (number === 1 ? one : many);

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

// The details of one topic. Numbers of topics may have gaps; places in the data have none.
const topicPlace = (number) => (page.data.topics || []).findIndex((topic) => topic.number === number);
const topicOf = (number) => page.data.topics[topicPlace(number)];

function showTopic(number, focus) {
  const topics = page.data.topics, at = topicPlace(number), topic = topics && topics[at];
  if (!topic || !byId("topic")) return false;
  page.topic = number;
  for (const row of document.querySelectorAll("#topic-table tr[data-topic]")) {
    const chosen = Number(row.dataset.topic) === number, link = row.querySelector("a");
    row.classList.toggle("chosen", chosen);
    if (chosen) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
    if (chosen && focus) {
      const list = row.closest(".list");
      list.scrollTop = row.offsetTop - list.clientHeight / 3;
    }
  }
  byId("topic-heading").replaceChildren(titled(nouns.topic) + " " + number + ": ", bdi(topic.label));
  const group = page.data.groups ? ", group " + page.data.groups[at] : "";
  byId("topic-facts").textContent = count(topic.tokens, nouns.token) + ", " + percent(topic.share, 2) + " of all" + group;
  showCommon(at);
  byId("topic-previous").disabled = at === 0;
  byId("topic-next").disabled = at === topics.length - 1;
  const texts = page.data.texts || {};
  byId("topic-documents").replaceChildren(...topic.documents.flatMap(([document_, share]) => [
    element("li", { class: "meter", share }, documentLink(document_), element("span", { class: "quiet" }, percent(share, 0))),
    ...(texts[document_] ? [element("li", { class: "quiet" }, bdi(texts[document_]))] : [])]));
  byId("topic-similar").replaceChildren(...topic.similar.map(([other, cosine]) =>
    element("li", {}, topicLink(other, topicOf(other).label), element("span", { class: "quiet" }, " cosine " + cosine.toFixed(2)))));
  byId("topic").hidden = false;
  showTerms();
  markOnMap();
  if (focus) {
    byId("topic").scrollIntoView({ block: "nearest" });
    byId("topic-heading").focus({ preventScroll: true });
  }
  return true;
}

/** Whether other states have the topic, and its share in them. */
function showCommon(at) {
  const place = byId("topic-common"), all = page.data.common;
  place.hidden = !all;
  if (!all) return;
  const one = all[at];
  place.textContent = one
    ? "In " + percent(one[0], 0) + " of the kept states; share " + percent(one[1], 2) + ", interval of "
      + percent(page.data.level, 0) + " from " + percent(one[2], 2) + " to " + percent(one[3], 2)
    : "No other kept state has this " + nouns.topic + ".";
}

/** Mean and interval of a term's probability over the states, as cells; empty where none is known. */
function commonCells(place) {
  if (!page.data.common) return [];
  const one = page.data.common[topicPlace(page.topic)];
  const at = topicOf(page.topic).terms.findIndex(([word]) => word === place);
  return [0, 1, 2].map((i) => element("td", { class: "figure" }, one && at >= 0 ? percent(one[4][3 * at + i], 2) : "–"));
}

function showTerms() {
  const order = document.querySelector("input[name=order]:checked").value;
  const terms = topicOf(page.topic)[order];
  const values = terms.map(([place, weight, lift]) => ({ place, term: page.data.words[place], weight, lift }));
  byId("topic-terms").replaceChildren(...values.map(({ place, term, weight, lift }) =>
    element("tr", { class: term === page.term ? "chosen" : "" }, element("th", { scope: "row" }, bdi(term)),
      element("td", { class: "figure" }, percent(weight, 2)), element("td", { class: "figure" }, lift.toPrecision(2)), ...commonCells(place))));
  const place = byId("topic-chart"), bars = structuredClone(page.data.charts["topic-terms"]);
  place.setAttribute("aria-label", "Bars of the " + values.length + " " + nouns.term + "s of " + nouns.topic + " " + page.topic + ". The table after it has the same numbers.");
  bars.data.values = values;
  bars.height = 17 * values.length;
  bars.mark.color = page.data.palette[(page.topic - 1) % page.data.palette.length];
  draw(place, bars);
}

function readyTopics() {
  if (!byId("topic-table")) return;
  for (const radio of document.querySelectorAll("input[name=order]")) radio.addEventListener("change", showTerms);
  byId("topic-previous").addEventListener("click", () => { location.hash = "topic-" + page.data.topics[topicPlace(page.topic) - 1].number; });
  byId("topic-next").addEventListener("click", () => { location.hash = "topic-" + page.data.topics[topicPlace(page.topic) + 1].number; });
  byId("topic-table").addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-topic]");
    if (row && !event.target.closest("a")) location.hash = "topic-" + row.dataset.topic;
  });
}

// Documents in pages. A document is [name, tokens, topic, share, topic, share, ...].
const documents = { first: 0, found: [], rows: 25 };

/** Place of a document of the corpus in the list; -1 where it isn't listed. */
function documentPlace(number) {
  const { documents: rows, numbers } = page.data;
  if (!rows) return -1;
  return numbers ? numbers.indexOf(number) : number;
}

function documentLink(number) {
  const place = documentPlace(number);
  if (place < 0) return element("span", {}, nouns.document + " " + (number + 1));
  return element("a", { href: "#document-" + (number + 1) }, bdi(page.data.documents[place][0]));
}

function* topicsOf(row) {
  for (let i = 2; i < row.length; i += 2) yield [row[i], row[i + 1]];
}

function showDocuments() {
  const { found, first, rows } = documents, all = page.data.documents;
  const shown = found.slice(first, first + rows);
  byId("document-table").tBodies[0].replaceChildren(...shown.map((place) => {
    const row = all[place], links = [];
    for (const [topic, share] of topicsOf(row)) {
      const label = topicPlace(topic) >= 0 ? topicOf(topic).label : null;
      links.push(element("span", { class: "chip" }, topicLink(topic, label), element("span", { class: "quiet" }, " " + percent(share, 0))), " ");
    }
    return element("tr", { class: place === documents.chosen ? "chosen" : "" },
      element("th", { scope: "row", tabindex: "-1" }, bdi(row[0])),
      element("td", { class: "figure" }, row[1].toLocaleString("en")), element("td", {}, ...links));
  }));
  byId("documents-previous").disabled = first === 0;
  byId("documents-next").disabled = first + rows >= found.length;
  byId("documents-status").textContent = found.length
    ? (first + 1).toLocaleString("en") + " to " + (first + shown.length).toLocaleString("en") + " of " + count(found.length, nouns.document)
    : "No " + nouns.document + " has a matching name.";
}

function filterDocuments() {
  const wanted = byId("document-filter").value.trim().toLocaleLowerCase();
  documents.found = page.data.documents.flatMap(([name], place) => name.toLocaleLowerCase().includes(wanted) ? [place] : []);
  documents.first = 0;
  showDocuments();
}

function showDocument(number) {
  const place = byId("document-table") ? documentPlace(number - 1) : -1;
  if (place < 0 || place >= page.data.documents.length) return false;
  byId("document-filter").value = "";
  filterDocuments();
  documents.chosen = place;
  documents.first = Math.floor(place / documents.rows) * documents.rows;
  showDocuments();
  const row = byId("document-table").querySelector("tr.chosen th");
  row.scrollIntoView({ block: "center" });
  row.focus({ preventScroll: true });
  return true;
}

function readyDocuments() {
  if (!byId("document-table")) return;
  documents.rows = Number(byId("document-table").dataset.rows);
  byId("document-tools").hidden = false;
  byId("document-filter").addEventListener("input", filterDocuments);
  byId("documents-previous").addEventListener("click", () => { documents.first -= documents.rows; showDocuments(); });
  byId("documents-next").addEventListener("click", () => { documents.first += documents.rows; showDocuments(); });
  filterDocuments();
}

// Search over topics (numbers and their terms), terms, and names of documents.
const MOST_RESULTS = 8;

/** Places of the texts that hold the wanted one: equal ones first, then those that begin with it. */
function matches(texts, wanted) {
  const found = [];
  texts.forEach((text, place) => {
    const at = text.toLocaleLowerCase().indexOf(wanted);
    if (at >= 0) found.push([text.length === wanted.length ? 0 : at === 0 ? 1 : 2, place]);
  });
  return found.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, place]) => place);
}

function resultList(title, total, items) {
  if (!total) return null;
  const more = total > items.length ? " (" + items.length + " of " + total.toLocaleString("en") + ")" : "";
  return element("div", { role: "group", "aria-label": title }, element("h2", {}, title + more), element("ul", {}, ...items));
}

function search() {
  const wanted = byId("query").value.trim().toLocaleLowerCase(), results = byId("results"), status = byId("search-status");
  if (!wanted) {
    results.hidden = true;
    results.replaceChildren();
    status.textContent = "";
    return;
  }
  const { topics = [], words = [], searched = [], documents: rows = [], numbers } = page.data;
  const numbered = /^\d+$/.test(wanted.replace(nouns.topic + " ", "")) ? Number(wanted.replace(nouns.topic + " ", "")) : 0;
  const topicPlaces = numbered && topicPlace(numbered) >= 0 ? [topicPlace(numbered)] : matches(topics.map((topic) => topic.label), wanted);
  const termPlaces = matches(words.slice(0, searched.length), wanted);
  const documentPlaces = matches(rows.map((row) => row[0]), wanted);
  const lists = [
    resultList(titled(nouns.topic) + "s", topicPlaces.length, topicPlaces.slice(0, MOST_RESULTS).map((place) =>
      element("li", {}, topicLink(topics[place].number, topics[place].label)))),
    resultList(titled(nouns.term) + "s", termPlaces.length, termPlaces.slice(0, MOST_RESULTS).map((place) => {
      const links = [], row = searched[place];
      for (let i = 0; i < row.length; i += 2) {
        const link = element("a", { href: "#topic-" + row[i], "data-term": words[place], "aria-label": words[place] + " in " + topicName(row[i]) + ", " + percent(row[i + 1], 0) + " of its " + nouns.token + "s" }, topicName(row[i]));
        links.push(" ", link, " " + percent(row[i + 1], 0));
      }
      return element("li", {}, bdi(words[place]), element("span", { class: "quiet" }, ...links));
    })),
    resultList(titled(nouns.document) + "s", documentPlaces.length, documentPlaces.slice(0, MOST_RESULTS).map((place) =>
      element("li", {}, documentLink(numbers ? numbers[place] : place)))),
  ].filter((list) => list !== null);
  results.replaceChildren(...(lists.length ? lists : [element("p", { class: "note" }, "Nothing found.")]));
  results.hidden = false;
  status.textContent = lists.length
    ? [count(topicPlaces.length, nouns.topic), count(termPlaces.length, nouns.term), count(documentPlaces.length, nouns.document)].join(", ") + " found"
    : "Nothing found";
}

function closeSearch() {
  byId("results").hidden = true;
}

function readySearch() {
  if (!page.data.topics && !page.data.documents) return; // nothing to search
  const form = document.querySelector("form.search"), query = byId("query"), results = byId("results");
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const first = results.querySelector("a");
    if (first) first.click();
  });
  query.addEventListener("input", search);
  query.addEventListener("focus", () => { if (query.value) search(); });
  form.addEventListener("keydown", (event) => {
    const links = [...results.querySelectorAll("a")], at = links.indexOf(document.activeElement);
    if (event.key === "Escape") {
      if (!results.hidden) event.preventDefault();
      closeSearch();
      query.focus();
    } else if (event.key === "ArrowDown" && links.length && !results.hidden) {
      event.preventDefault();
      links[Math.min(at + 1, links.length - 1)].focus();
    } else if (event.key === "ArrowUp" && at >= 0) {
      event.preventDefault();
      (at ? links[at - 1] : query).focus();
    }
  });
  results.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link) return;
    page.term = link.dataset.term;
    closeSearch();
    if (link.hash === location.hash) arrive(); // the place is the same: no event tells
  });
  document.addEventListener("click", (event) => { if (!form.contains(event.target)) closeSearch(); });
  form.addEventListener("focusout", (event) => { if (event.relatedTarget && !form.contains(event.relatedTarget)) closeSearch(); });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.closest("input, textarea, select")) {
      event.preventDefault();
      query.focus();
    }
  });
}

// Where the page is (its hash), light and dark, and the beginning.
function arrive() {
  const [, what, number] = /^#(topic|document|group)-(\d+)$/.exec(location.hash) || [];
  if (what === "topic") showTopic(Number(number), true);
  else if (what === "document") showDocument(Number(number));
  else if (what === "group" && byId("group-" + number)) byId("group-" + number).open = true;
}

const darkAsked = matchMedia("(prefers-color-scheme: dark)");

function kept() {
  try {
    return localStorage.getItem("hdpkit-theme");
  } catch {
    return null; // a browser that keeps nothing for files
  }
}

function setTheme(choice) {
  const root = document.documentElement;
  if (choice) root.dataset.theme = choice;
  else delete root.dataset.theme;
  charts.dark = choice ? choice === "dark" : darkAsked.matches;
  byId("theme").setAttribute("aria-pressed", String(charts.dark));
}

async function redraw() {
  await drawAll();
  if (page.topic) showTerms();
}

function readyTheme() {
  setTheme(kept());
  byId("theme").hidden = false;
  byId("theme").addEventListener("click", () => {
    const choice = charts.dark ? "light" : "dark";
    setTheme(choice);
    try {
      localStorage.setItem("hdpkit-theme", choice);
    } catch {
      // as above
    }
    redraw();
  });
  darkAsked.addEventListener("change", () => {
    setTheme(kept());
    redraw();
  });
}

/** Tell the list of sections where the reader is. */
function readySections() {
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id).setAttribute("aria-current", "location");
    }
  }, { rootMargin: "-15% 0px -75% 0px" });
  for (const section of document.querySelectorAll("main > section")) watch.observe(section);
}

// What is closed on the screen is open on paper.
function openForPaper(open) {
  for (const details of document.querySelectorAll("main details")) {
    if (open && !details.open) details.dataset.closed = "";
    if (open || "closed" in details.dataset) details.open = open;
    if (!open) delete details.dataset.closed;
  }
}

readyTheme();
readyTopics();
readyDocuments();
readySearch();
readySections();
addEventListener("hashchange", arrive);
addEventListener("beforeprint", () => openForPaper(true));
addEventListener("afterprint", () => openForPaper(false));
drawAll().then(() => {
  if (page.data.topics && page.data.topics.length && !page.topic) showTopic(page.data.topics[0].number, false);
  arrive();
  document.documentElement.dataset.ready = "true";
});
