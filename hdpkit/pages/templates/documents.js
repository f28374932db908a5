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
