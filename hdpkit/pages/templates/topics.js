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
