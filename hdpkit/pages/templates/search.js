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
